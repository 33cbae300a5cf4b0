"""Personal access tokens are created on a page, which shows each token once."""

import re
import shlex
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils.timezone import now

from accounts.models import Event, PersonalToken, User
from accounts.pages.tokens import PRESET_LABELS, PRESETS
from accounts.scopes import OFFERED
from tests.accounts.pages.browsers import careful, has_inline, kept_in_sessions, problems, sign_in, signed_in_ago
from tests.accounts.signing_in import words
from tests.client import APIClient
from tests.config.api.routes import routes
from tests.factories import PersonalTokenFactory, token_of

pytestmark = pytest.mark.django_db
PAGE = "/home/tokens/new"
GOOD = {"label": "ci", "preset": "single", "scopes": ["computes:read_only"], "expires": "30"}


def made(answer) -> str:
    """Return the token on the page."""
    assert answer.status_code == 200
    return re.findall(r'<code id="token">([0-9a-f]{64})</code>', answer.content.decode())[0]


class TestMakingOne:
    def test_a_token_has_the_chosen_scopes_and_expiry(self, browser, owner):
        readable = made(browser.post(PAGE, GOOD))
        api = APIClient(readable)
        assert api.get("/v4/profile").json()["username"] == "owner"
        assert api.get("/v4/compute/instances").status_code == 200
        assert api.get("/v4/domains").status_code == 401
        token = PersonalToken.objects.get()
        assert (token.user, token.label, token.scopes) == (owner, "ci", "computes:read_only")
        assert timedelta(days=29) < token.expiry - now() <= timedelta(days=30)
        assert [(event.action, event.username) for event in Event.objects.all()] == [("token_create", "owner")]

    def test_the_profile_says_which_app_made_one(self, browser, owner, web):
        PersonalTokenFactory(user=owner, label="ci", client=web.client)
        PersonalTokenFactory(user=owner, label="laptop")
        page = " ".join(browser.get("/home/profile/tokens").content.decode().split())
        assert '>ci <span class="text-secondary">created by Dashboard</span></th>' in page
        assert ">laptop</th>" in page

    def test_it_is_shown_once_and_kept_nowhere_readable(self, browser):
        answer = browser.post(PAGE, GOOD)
        readable = made(answer)
        assert "no-store" in answer["Cache-Control"]
        assert readable not in browser.get("/home/profile/tokens").content.decode()
        assert readable not in browser.get(PAGE).content.decode()
        assert readable not in kept_in_sessions()
        assert readable not in str(PersonalToken.objects.values().get()) + str(list(Event.objects.values()))
        assert readable not in str(browser.cookies)

    def test_its_line_for_the_terminal_names_the_site_and_the_token(self, browser, settings):
        settings.SITE_URL = "https://cloud.example.com"
        page = browser.post(PAGE, GOOD)
        line = unescape(re.findall(r'<code id="command">(.*?)</code>', page.content.decode())[0])
        header = f"Authorization: Bearer {made(page)}"
        assert shlex.split(line) == ["curl", "-sS", "-H", header, "https://cloud.example.com/v4/profile"]

    @pytest.mark.parametrize(
        ("ticked", "kept"),
        [
            (["computes:read_only", "computes:read_write", "volumes:read_only"],
             "computes:read_write volumes:read_only"),
            (["computes:read_only"], "computes:read_only"),
        ],
    )  # fmt: skip
    def test_scopes_that_another_scope_includes_are_left_out(self, browser, ticked, kept):
        made(browser.post(PAGE, GOOD | {"scopes": ticked}))
        assert PersonalToken.objects.get().scopes == kept

    def test_every_scope_has_a_box_with_its_description(self, browser):
        page = unescape(browser.get(PAGE).content.decode())
        boxes = dict(re.findall(r'name="scopes" value="([^"]+)"[^>]*> <label[^>]*>([^<]+)</label>', page))
        assert boxes.keys() == {f"{family}:{level}" for family in OFFERED for level in ("read_only", "read_write")}
        assert boxes["domains:read_only"] == "See domains and their records"
        assert len(set(boxes.values())) == len(boxes)

    def test_only_scopes_of_this_platform_have_boxes(self, browser):
        page = unescape(browser.get(PAGE).content.decode())
        families = re.findall(r"<legend><code>(\w+)</code></legend>", page)
        assert families == list(OFFERED)
        assert set(families) == {name.partition(":")[0] for route in routes() for name in route.scope.names}

    @pytest.mark.parametrize(
        ("preset", "allowed", "refused"),
        [
            ("read", ["GET /v4/compute/instances", "GET /v4/account"], ["POST /v4/tags"]),
            ("machines", ["GET /v4/compute/instances", "GET /v4/volumes", "GET /v4/images"], ["GET /v4/account"]),
            ("everything", ["GET /v4/account", "POST /v4/tags"], []),
        ],
    )
    def test_a_preset_chooses_the_scopes(self, browser, preset, allowed, refused):
        given = GOOD | {"preset": preset, "scopes": ["domains:read_write"]}
        api = APIClient(made(browser.post(PAGE, given)))
        statuses = {
            call: getattr(api, call.split()[0].lower())(call.split()[1]).status_code for call in allowed + refused
        }
        assert {call for call, status in statuses.items() if status == 401} == set(refused)

    @pytest.mark.parametrize(
        ("scopes", "shown"),
        [
            ("*", "Everything that you can do, your account included"),
            (" ".join(PRESETS["read"]), "Read everything, and change nothing"),
            (" ".join(reversed(PRESETS["machines"])), PRESET_LABELS["machines"]),
            ("computes:read_only events:read_only", "See compute instances See events"),
            ("volumes:read_only volumes:read_write", "See, create, change and delete volumes"),
        ],
    )
    def test_the_list_has_permissions_in_the_words_of_the_form(self, browser, owner, scopes, shown):
        token_of(owner, scopes, label="ci")
        page = words(browser.get("/home/profile/tokens"))
        assert shown in page
        assert "read_only" not in page

    def test_label_expiry_and_permissions_come_in_this_order(self, browser):
        page = browser.get(PAGE).content.decode()
        places = [page.index(f'name="{name}"') for name in ("label", "expires", "until", "preset", "scopes")]
        assert places == sorted(places)

    def test_it_may_never_expire(self, browser):
        assert "until you revoke it" in browser.post(PAGE, GOOD | {"expires": "never"}).content.decode()
        assert PersonalToken.objects.get().expiry is None

    def test_it_is_good_to_the_end_of_the_day_that_was_chosen(self, browser, owner):
        User.objects.filter(pk=owner.pk).update(timezone="Asia/Tokyo")
        day = (now() + timedelta(days=400)).date()
        answer = browser.post(PAGE, GOOD | {"expires": "day", "until": day.isoformat()})
        made(answer)
        assert "until <time" in answer.content.decode()
        assert f">{day + timedelta(days=1)} 08:59</time>." in answer.content.decode()
        assert PersonalToken.objects.get().expiry == datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC)

    def test_a_day_counts_only_where_one_is_to_be_chosen(self, browser):
        made(browser.post(PAGE, GOOD | {"expires": "never", "until": "2001-01-01"}))
        assert PersonalToken.objects.get().expiry is None

    def test_a_token_of_a_restricted_user_is_as_restricted(self, restricted):
        readable = made(sign_in("restricted", restricted).post(PAGE, GOOD | {"preset": "everything"}))
        denied = APIClient(readable).post("/v4/domains", {"domain": "example.com", "type": "master"})
        assert denied.status_code == 403


@pytest.mark.parametrize(
    ("wrong", "field", "reason"),
    [
        ({"label": ""}, "label", "Length must be 1-100 characters"),
        ({"label": "   "}, "label", "Length must be 1-100 characters"),
        ({"label": "x" * 101}, "label", "Length must be 1-100 characters"),
        ({"label": "a\x00b"}, "label", "Null characters are not allowed."),
        ({"scopes": []}, "scopes", "At least one scope is required"),
        ({"scopes": ["computes:admin"]}, "scopes", "Select a valid choice."),
        ({"scopes": ["databases:read_only"]}, "scopes", "Select a valid choice."),
        ({"preset": ""}, "preset", "At least one scope is required"),
        ({"preset": "admin"}, "preset", "Select a valid choice."),
        ({"expires": "day"}, "until", "Choose a date."),
        ({"expires": "day", "until": "2001-01-01"}, "until", "Choose a date in the future."),
        ({"expires": "day", "until": "soon"}, "until", "Enter a valid date."),
        ({"expires": "-5"}, "expires", "Select a valid choice."),
    ],
)  # fmt: skip
def test_errors_are_shown_at_the_field_and_nothing_is_created(browser, wrong, field, reason):
    answer = browser.post(PAGE, GOOD | wrong)
    assert reason in problems(answer, field)
    assert not PersonalToken.objects.exists()
    assert not Event.objects.exists()


def test_all_errors_are_reported_together_and_the_rest_stays(browser):
    given = GOOD | {"label": "", "scopes": ["volumes:read_only"], "expires": "day", "until": "2001-01-01"}
    answer = browser.post(PAGE, given)
    assert problems(answer, "label")
    assert problems(answer, "until")
    assert 'id="scope-volumes:read_only" checked' in answer.content.decode()


class TestWhoMay:
    def test_a_visitor_without_session_creates_no_token(self):
        assert Client().get(PAGE)["Location"] == f"/login?next={PAGE}"
        assert Client().post(PAGE, GOOD)["Location"].startswith("/login")
        assert not PersonalToken.objects.exists()

    def test_a_suspended_user_creates_no_token(self, browser):
        User.objects.update(is_active=False)
        assert browser.post(PAGE, GOOD)["Location"].startswith("/login")
        assert not PersonalToken.objects.exists()

    def test_staff_without_account_create_no_token(self, staff_browser):
        assert staff_browser.get(PAGE).status_code == 404
        assert staff_browser.post(PAGE, GOOD).status_code == 404
        assert not PersonalToken.objects.exists()

    def test_no_form_of_another_site(self, browser):
        assert careful(browser).post(PAGE, GOOD).status_code == 403
        assert not PersonalToken.objects.exists()

    def test_no_browser_that_was_left_alone(self, browser):
        signed_in_ago(browser, 601)
        assert browser.get(PAGE)["Location"] == "/home/confirm?next=%2Fhome%2Ftokens%2Fnew"
        signed_in_ago(browser, 1801)
        assert browser.post(PAGE, GOOD)["Location"].startswith("/home/confirm")
        assert not PersonalToken.objects.exists()

    def test_but_a_form_may_stay_open_for_a_while(self, browser):
        signed_in_ago(browser, 1700)
        made(browser.post(PAGE, GOOD))


def test_the_page_has_nothing_inline(browser):
    page = browser.post(PAGE, GOOD)
    assert page["Content-Security-Policy"].startswith("default-src 'none'")
    assert "script-src 'self'" in page["Content-Security-Policy"]
    assert not has_inline(page.content)
