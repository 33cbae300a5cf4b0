"""The pages of the account's apps: OAuth clients, their secrets and their pictures."""

import pytest
from django.contrib.auth.hashers import check_password
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Event, OAuthClient, Picture
from tests.accounts.pages.browsers import kept_in_sessions, problems, signed_in_ago
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in
from tests.factories import PICTURE, GlobalGrantsFactory, OAuthClientFactory

PAGE = "/home/apps"
APP = {"label": "Dashboard", "redirect_uri": "https://app.example/back"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def app(account) -> OAuthClient:
    return OAuthClientFactory(account=account, name="Dashboard")


def page_of(app: OAuthClient, page: str = "") -> str:
    return f"{PAGE}/{app.pk}{'/' if page else ''}{page}"


def actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


def file_of(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("picture.png", content, "image/png")


class TestRegistering:
    def test_the_secret_is_shown_once(self, browser, account):
        page = browser.post(f"{PAGE}/new", APP)
        app = OAuthClient.objects.get()
        assert (app.account, app.name, app.client_type) == (account, "Dashboard", "confidential")
        secret = page.context["secret"]
        assert check_password(secret, app.client_secret)
        assert secret in words(page)
        assert page["Cache-Control"].startswith("max-age=0")
        assert secret not in browser.get(page_of(app)).content.decode() + kept_in_sessions()
        assert actions() == ["oauth_client_create"]

    def test_a_public_app_has_no_secret(self, browser):
        assert "A public app has no secret." in words(browser.post(f"{PAGE}/new", APP | {"public": "on"}))
        app = OAuthClient.objects.get()
        assert app.client_type == "public"
        assert "A public app has no secret." in words(browser.get(page_of(app)))
        assert "A public client has no secret." in words(browser.post(page_of(app, "secret")))

    @pytest.mark.parametrize(
        ("wrong", "field", "reason"),
        [
            ({"label": ""}, "label", "Label is required"),
            ({"label": "a\0b"}, "label", "Label is not valid"),
            ({"redirect_uri": "app.example"}, "redirect_uri", '"Redirect address" is not valid'),
            ({"redirect_uri": "https://a.example/#x"}, "redirect_uri", '"Redirect address" must have no fragment'),
        ],
    )
    def test_each_refusal_stands_at_its_field(self, browser, wrong, field, reason):
        assert reason in problems(browser.post(f"{PAGE}/new", APP | wrong), field)
        assert not OAuthClient.objects.exists()

    def test_the_password_is_asked_for_first(self, browser, app):
        signed_in_ago(browser, 4000)
        for page in (f"{PAGE}/new", page_of(app, "edit"), page_of(app, "secret")):
            assert browser.post(page, APP)["Location"].startswith("/home/confirm?next=")
        assert not actions()


class TestOneApp:
    def test_it_is_changed(self, browser, app):
        given = {"label": "Board", "redirect_uri": "https://app.example/other"}
        assert browser.post(page_of(app, "edit"), given)["Location"] == page_of(app)
        app.refresh_from_db()
        assert (app.name, app.redirect_uris, app.client_type) == (*given.values(), "confidential")
        assert actions() == ["oauth_client_update"]
        assert "Board" in words(browser.get(PAGE, {"label": "board"}))
        assert "No OAuth apps match" in words(browser.get(PAGE, {"label": "dash"}))

    def test_a_change_without_a_label_is_refused(self, browser, app):
        answer = browser.post(page_of(app, "edit"), APP | {"label": ""})
        assert problems(answer, "label") == "Length must be 1-512 characters"
        assert not actions()

    def test_its_secret_is_replaced(self, browser, app):
        page = browser.post(page_of(app, "secret"))
        app.refresh_from_db()
        assert check_password(page.context["secret"], app.client_secret)
        assert actions() == ["oauth_client_secret_reset"]

    def test_it_is_deleted(self, browser, app):
        assert browser.get(page_of(app, "delete")).status_code == 200
        assert browser.post(page_of(app, "delete"))["Location"] == PAGE
        assert not OAuthClient.objects.exists()
        assert actions() == ["oauth_client_delete"]
        assert "has no apps yet" in words(browser.get(PAGE))

    def test_a_picture_is_sent(self, browser, app):
        answer = browser.post(page_of(app, "picture"), {"thumbnail": file_of(PICTURE)}, follow=True)
        assert "The picture was uploaded." in words(answer)
        assert bytes(Picture.objects.get(client=app).content) == PICTURE
        assert actions() == ["oauth_client_update"]

    @pytest.mark.parametrize(
        ("sent", "reason"),
        [
            ({}, "Choose a PNG or JPEG file."),
            ({"thumbnail": ""}, "Choose a PNG or JPEG file."),
            ({"thumbnail": b"hello"}, "The picture is no PNG or JPEG picture, or is broken."),
            ({"thumbnail": b"x" * (1024 * 1024 + 1)}, "The picture must be at most 1024 KB."),
        ],
    )
    def test_a_file_that_is_no_picture_is_refused(self, browser, app, sent, reason):
        given = {
            name: file_of(content) if isinstance(content, bytes) else content for name, content in sent.items()
        }
        assert problems(browser.post(page_of(app, "picture"), given), "thumbnail") == reason
        assert not Picture.objects.exists()


class TestWhoMayOpenThem:
    @pytest.mark.parametrize("page", ["", "edit", "secret", "picture", "delete"])
    def test_an_app_of_another_account_does_not_exist(self, browser, page):
        foreign = OAuthClientFactory()
        assert browser.get(page_of(foreign, page)).status_code == 404
        if page:
            assert browser.post(page_of(foreign, page), APP).status_code == 404

    def test_a_reader_changes_nothing(self, account, app):
        browser = signed_in(GlobalGrantsFactory(user__account=account, account_access="read_only").user)
        assert "Register app" not in words(browser.get(PAGE))
        assert page_of(app, "edit") not in browser.get(PAGE).content.decode()
        assert "Delete" not in words(browser.get(page_of(app)))
        for page in (f"{PAGE}/new", *(page_of(app, page) for page in ("edit", "secret", "picture", "delete"))):
            assert browser.get(page).status_code == 403
            assert browser.post(page, APP).status_code == 403
        assert OAuthClient.objects.get() == app

    def test_without_access_there_is_no_page(self, account):
        browser = signed_in(GlobalGrantsFactory(user__account=account, account_access=None).user)
        assert browser.get(PAGE).status_code == 403
