"""OAuth clients that an account registers."""

import array
import base64
import io
import re
import struct
import zlib

import pytest
from django.test import Client
from PIL import ExifTags, Image, PngImagePlugin

from accounts import pictures
from accounts.actors import Actor
from accounts.models import Event, OAuthClient, Picture
from accounts.redirects import check_redirect_uri
from accounts.services import oauth_clients, thumbnails
from config.errors import Missing
from tests.accounts.apps import REDIRECT, App, browser_of, call
from tests.client import APIClient, File, errors, wrong_fields
from tests.factories import PICTURE, OAuthClientFactory, picture
from tests.pictures import scans

PATH = "/v4/account/oauth-clients"
BODY = {"label": "Dashboard", "redirect_uri": "https://app.example/done?from=skerry"}


def test_the_secret_is_shown_once(api):
    made = api.post(PATH, BODY).json()
    assert re.fullmatch("[0-9a-f]{64}", made["secret"])
    assert re.fullmatch("[0-9a-f]{20}", made["id"])
    assert made == {
        **BODY, "id": made["id"], "secret": made["secret"], "public": False, "status": "active",
        "thumbnail_url": None,
    }  # fmt: skip
    read = api.get(f"{PATH}/{made['id']}").json()
    assert read == {**made, "secret": "<REDACTED>"}
    assert api.get(PATH).json()["data"] == [read]
    assert made["secret"] not in str(OAuthClient.objects.values().get())


def developed(made: dict) -> App:
    """Return an app that uses the values in the answer."""
    app = App.__new__(App)
    app.client = OAuthClient.objects.get(client_id=made["id"])
    app.id, app.secret, app.pkce, app.verifier = made["id"], made["secret"], False, ""
    return app


def test_a_registered_client_works_for_users_of_any_account(api, stranger):
    tokens = developed(api.post(PATH, BODY).json()).tokens(stranger)
    assert call(tokens["access_token"]).status_code == 200


def test_a_new_secret_takes_the_place_of_the_old_one(api, owner):
    made = api.post(PATH, BODY).json()
    tokens = developed(made).tokens(owner)
    renewed = api.post(f"{PATH}/{made['id']}/reset-secret").json()
    assert renewed["secret"] != made["secret"]
    assert developed(made).refresh(tokens["refresh_token"]).status_code == 401
    assert developed(renewed).refresh(tokens["refresh_token"]).status_code == 200
    assert Event.objects.filter(action="oauth_client_secret_reset").count() == 1


def test_changing_one_leaves_its_secret_alone(api, owner):
    made = api.post(PATH, BODY).json()
    changed = api.put(f"{PATH}/{made['id']}", {"label": "Panel", "secret": "mine", "status": "suspended"}).json()
    assert (changed["label"], changed["status"]) == ("Panel", "active")
    assert developed(made).tokens(owner)["access_token"]
    assert api.put(f"{PATH}/{made['id']}", {"public": True}).json()["public"] is True


def test_a_public_one_has_no_secret(api, owner):
    made = api.post(PATH, {**BODY, "public": True}).json()
    assert (made["public"], made["secret"]) == (True, "")
    path = f"{PATH}/{made['id']}"
    assert api.get(path).json() == made
    assert errors(api.post(f"{path}/reset-secret")) == {None: "A public client has no secret."}
    assert not Event.objects.filter(action="oauth_client_secret_reset").exists()
    app = developed(made)
    app.secret, app.pkce, app.verifier = None, True, "v" * 43
    assert call(app.tokens(owner)["access_token"]).status_code == 200
    assert app.exchange(app.code(owner), client_secret="0" * 64).status_code == 401
    assert app.exchange(app.code(owner), code_verifier=None).status_code == 400


def test_a_public_client_has_no_secret_until_a_reset(api, owner):
    made = api.post(PATH, BODY).json()
    path = f"{PATH}/{made['id']}"
    public = api.put(path, {"public": True}).json()
    assert (public["public"], public["secret"]) == (True, "")
    assert api.put(path, {"public": False}).json()["secret"] == "<REDACTED>"
    for secret in (made["secret"], "", None):
        app = developed({**made, "secret": secret})
        refused = app.exchange(app.code(owner))
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
        basic = base64.b64encode(f"{app.id}:{secret or ''}".encode()).decode()
        wish = {"grant_type": "authorization_code", "code": app.code(owner), "redirect_uri": REDIRECT}
        assert Client().post("/oauth/token", wish, HTTP_AUTHORIZATION=f"Basic {basic}").status_code == 401
    assert developed(api.post(f"{path}/reset-secret").json()).tokens(owner)["access_token"]


def test_deleting_one_ends_the_access_it_was_given(api, owner):
    made = api.post(PATH, BODY).json()
    tokens = developed(made).tokens(owner)
    assert api.delete(f"{PATH}/{made['id']}").json() == {}
    assert call(tokens["access_token"]).status_code == 401
    assert api.get(f"{PATH}/{made['id']}").status_code == 404
    assert Event.objects.filter(action="oauth_client_delete").count() == 1


@pytest.mark.parametrize("status", ["disabled", "suspended"])
def test_an_inactive_client_is_refused_everywhere(api, owner, status):
    made = api.post(PATH, BODY).json()
    app = developed(made)
    tokens, code = app.tokens(owner), app.code(owner)
    OAuthClient.objects.update(status=status)
    assert api.get(f"{PATH}/{made['id']}").json()["status"] == status
    assert call(tokens["access_token"]).status_code == 401
    assert app.exchange(code).status_code == 401
    assert app.refresh(tokens["refresh_token"]).status_code == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"label": ""}, "label"),
        ({"label": "x" * 513}, "label"),
        ({"redirect_uri": "app.example"}, "redirect_uri"),
        ({"redirect_uri": "https://app.example/#x"}, "redirect_uri"),
        ({"redirect_uri": "javascript:alert(1)"}, "redirect_uri"),
        ({"redirect_uri": "https://a b"}, "redirect_uri"),
        ({"redirect_uri": "https://[::1"}, "redirect_uri"),
        ({"redirect_uri": "https://user:password@app.example"}, "redirect_uri"),
        ({"redirect_uri": "https://app.example:99999/"}, "redirect_uri"),
        *(
            ({"redirect_uri": f"https://app.example/{each}"}, "redirect_uri")
            for each in ("a|b", "%zz", "?a[]", "{a}")
        ),
        *(({"label": f"Dash{each}board"}, "label") for each in "\n\x00\x1b\x85\u200b\u202e\u2066\u2800\ufeff"),
        ({"public": "yes"}, "public"),
    ],
    ids=ascii,
)
def test_bad_values_are_refused_by_name(api, body, field):
    made = api.post(PATH, BODY).json()
    for answer in (api.post(PATH, {**BODY, **body}), api.put(f"{PATH}/{made['id']}", body)):
        assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert api.get(PATH).json()["results"] == 1
    assert api.get(f"{PATH}/{made['id']}").json()["label"] == "Dashboard"


@pytest.mark.parametrize(
    "place", ["https://app.example/a%sb", "https://app.example/a?b%sc", "https://app%sx.example/"]
)
def test_an_address_that_may_be_registered_works_at_the_page(owner, place):
    """One address with all printable characters that are accepted one by one."""
    app = App(public=False)
    passing = "".join(each for each in map(chr, range(33, 127)) if check_redirect_uri(place % each) is None)
    assert len(passing) > 60
    assert not set(passing) & set('|"<>[]{}^`\\')
    OAuthClient.objects.filter(pk=app.client.pk).update(redirect_uris=place % passing)
    assert app.ask(browser_of(owner), redirect_uri=place % passing).status_code == 200


def test_all_that_is_wrong_is_named_at_once(api):
    wrong = {"label": "", "redirect_uri": "https://app.example/#x", "public": "yes"}
    assert wrong_fields(api.post(PATH, wrong)) == ["label", "public", "redirect_uri"]
    made = api.post(PATH, BODY).json()
    assert wrong_fields(api.put(f"{PATH}/{made['id']}", wrong)) == ["label", "public", "redirect_uri"]


def test_they_can_be_filtered(api, account):
    OAuthClientFactory(account=account, name="web")
    OAuthClientFactory(account=account, name="phone", client_type=OAuthClient.CLIENT_PUBLIC)
    assert [each["label"] for each in api.get(PATH, {"public": True}).json()["data"]] == ["phone"]
    assert {each["label"] for each in api.get(PATH, {"label": {"+contains": "e"}}).json()["data"]} == {
        "web",
        "phone",
    }


def test_they_are_listed_by_their_id(api, account):
    for client_id in ("bb" * 10, "aa" * 10, "cc" * 10):
        OAuthClientFactory(account=account, client_id=client_id)
    assert [each["id"][0] for each in api.get(PATH).json()["data"]] == ["a", "b", "c"]
    assert [each["id"][0] for each in api.get(PATH, {"+order": "desc"}).json()["data"]] == ["c", "b", "a"]


def test_clients_of_other_accounts_do_not_exist(api):
    foreign = OAuthClientFactory()
    path = f"{PATH}/{foreign.client_id}"
    assert api.get(PATH).json()["results"] == 0
    for answer in (api.get(path), api.put(path, {}), api.delete(path), api.post(f"{path}/reset-secret")):
        assert answer.status_code == 404
    assert api.put(f"{path}/thumbnail", File(PICTURE, "image/png")).status_code == 404


class TestThumbnails:
    @pytest.fixture
    def path(self, account) -> str:
        return f"{PATH}/{OAuthClientFactory(account=account).client_id}/thumbnail"

    @pytest.fixture
    def put(self, api, path, monkeypatch):
        """Send a picture, and process it in this process, as a worker would."""

        def drawn(content: bytes) -> bytes:
            try:
                return pictures.drawn(content)
            except pictures.Broken as error:
                raise thumbnails.Undrawn from error

        def put(content: bytes, media_type: str = "image/png") -> None:
            assert api.put(path, File(content, media_type)).json() == {}
            assert thumbnails.draw_due() == 1

        monkeypatch.setattr(thumbnails, "drawn_apart", drawn)
        return put

    @pytest.mark.parametrize(("kind", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg")])
    def test_a_picture_is_made_small_and_shown_to_anybody(self, api, anonymous, path, put, kind, media_type):
        assert anonymous.get(path).status_code == 404
        put(picture(kind, (400, 200)), media_type)
        answer = anonymous.get(path)
        assert answer["Content-Type"] == "image/png"
        shown = Image.open(io.BytesIO(answer.content))
        assert (shown.format, shown.size) == ("PNG", (128, 64))
        assert api.get(path.removesuffix("/thumbnail")).json()["thumbnail_url"].endswith(path)
        assert not Picture.objects.exists()

    def test_nothing_of_the_file_but_its_picture_is_kept(self, put):
        about = PngImagePlugin.PngInfo()
        about.add_text("Comment", "<script>alert(1)</script>")
        file = io.BytesIO()
        Image.new("RGB", (8, 8)).save(file, "PNG", pnginfo=about)
        assert b"<script>" in file.getvalue()
        put(file.getvalue() + b"<script>")
        assert b"<script>" not in bytes(OAuthClient.objects.get().thumbnail)

    @pytest.mark.parametrize(
        "content",
        [
            b"GIF89a", b"\x89PNG\r\n\x1a\n", PICTURE[:30], PICTURE[:-4], b"<svg/>", picture("PNG", (4097, 1)),
            picture("JPEG", (1, 4097)), picture("JPEG", (8, 8))[:-2], b"\xff\xd8" + b"\xff" * 2**20,
            b"\xff\xd8" + b"\xff\xfe\0\2" * 2**18, scans(pictures.MAX_SCANS), scans(20_000),
        ],
        ids=[
            "a gif", "its beginning", "a part", "no end", "svg", "too wide", "too high", "no end of a photograph",
            "no marker", "segments alone", "too many scans", "far too many scans",
        ],
    )  # fmt: skip
    def test_a_bad_picture_is_refused_by_its_header(self, api, path, content, monkeypatch):
        monkeypatch.setattr(Image, "open", None)
        answer = api.put(path, File(content[: 2**20], "image/png"))
        assert [each["field"] for each in answer.json()["errors"]] == ["thumbnail"]
        assert not Picture.objects.exists()

    def test_a_photograph_in_many_passes_is_taken(self, put):
        put(scans(80), "image/jpeg")

    def test_a_file_that_pillow_stumbles_over_leaves_the_picture_before(self, put):
        put(PICTURE)
        before = bytes(OAuthClient.objects.get().thumbnail)
        # the colour profile is only a name behind the pixels: Pillow reads beyond the chunk's end
        start = PICTURE.index(b"IEND") - 4
        profile = struct.pack(">I", 2) + b"iCCP" + b"a\0" + struct.pack(">I", zlib.crc32(b"iCCPa\0"))
        put(PICTURE[:start] + profile + PICTURE[start:])
        assert bytes(OAuthClient.objects.get().thumbnail) == before
        assert Event.objects.latest("pk").message == thumbnails.UNDRAWN
        assert not Picture.objects.exists()

    def test_the_last_of_several_is_drawn(self, api, path, put, monkeypatch):
        api.put(path, File(picture("PNG", (50, 50)), "image/png"))
        slow = thumbnails.claim()
        assert thumbnails.draw_due() == 0, "another worker draws"
        put(picture("PNG", (60, 60)))
        assert not thumbnails.settle(slow, b"late")
        assert Image.open(io.BytesIO(bytes(OAuthClient.objects.get().thumbnail))).size == (60, 60)

    def test_a_photograph_is_turned_as_its_camera_was_held(self, anonymous, path, put):
        exif, file = Image.Exif(), io.BytesIO()
        exif[ExifTags.Base.Orientation] = 6
        Image.new("RGB", (200, 100)).save(file, "JPEG", exif=exif)
        put(file.getvalue(), "image/jpeg")
        assert Image.open(io.BytesIO(anonymous.get(path).content)).size == (64, 128)

    def test_sixteen_bits_of_grey_stay_grey(self, anonymous, path, put):
        greys, file = array.array("H", [0, 128 * 257, 65535]), io.BytesIO()
        Image.frombytes("I;16", (3, 1), greys.tobytes()).save(file, "PNG")
        put(file.getvalue())
        shown = Image.open(io.BytesIO(anonymous.get(path).content)).convert("L")
        assert [shown.getpixel((x, 0)) for x in range(3)] == [0, 128, 255]

    def test_a_process_of_its_own_draws_it_and_is_ended_in_time(self, monkeypatch):
        assert thumbnails.drawn_apart(PICTURE) == pictures.drawn(PICTURE)
        with pytest.raises(thumbnails.Undrawn, match="broken"):
            thumbnails.drawn_apart(PICTURE[:30])
        monkeypatch.setattr(thumbnails, "DRAWN_WITHIN", 0.001)
        with pytest.raises(thumbnails.Undrawn, match="takes more than"):
            thumbnails.drawn_apart(PICTURE)

    def test_a_large_file_is_refused_before_it_is_looked_at(self, api, path):
        answer = api.put(path, File(PICTURE + b"\0" * 1024**2, "image/png"))
        assert "1024 KB" in answer.json()["errors"][0]["reason"]

    def test_other_types_are_refused(self, api, path):
        assert api.put(path, {"picture": "x"}).status_code == 415
        refused = api.put(path, File(PICTURE, "image/gif"))
        assert errors(refused, 415) == {None: "The body must be image/png or image/jpeg"}

    def test_it_needs_a_token(self, path):
        assert APIClient().put(path, File(PICTURE, "image/png")).status_code == 401


def test_a_client_that_was_deleted_meanwhile_gets_no_other_secret(owner):
    client = OAuthClientFactory(account=owner.account)
    OAuthClient.objects.all().delete()
    with pytest.raises(Missing):
        oauth_clients.reset_secret(Actor(owner.account_id, owner.pk, "owner"), client)
