"""A link to a token shows the token once, to the person who presses the button."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Account, Event, PersonalToken, TokenLink, User
from accounts.services import access, retention, token_links
from config.errors import Invalid
from tests.accounts.pages.browsers import kept_in_sessions
from tests.client import APIClient
from tests.factories import PersonalTokenFactory

pytestmark = pytest.mark.django_db
GONE = "This link does not work any more"


def link_to(user: User, **given) -> str:
    """Return the path of a new link."""
    actor = Actor(user.account_id, username="staff", is_staff=True)
    _, address = token_links.make_link(actor, user, "ci", **{"scopes": "computes:read_only", **given})
    return "/" + address.split("/", 3)[3]


def shown(answer) -> str:
    assert answer.status_code == 200
    return re.findall(r'<code id="token">([0-9a-f]{64})</code>', answer.content.decode())[0]


def test_looking_uses_nothing_up_and_the_button_shows_a_token_that_works(owner):
    path, browser = link_to(owner), Client()
    for _ in range(3):
        page = browser.get(path)
        assert page.status_code == 200
        assert "See compute instances" in page.content.decode()
    assert not PersonalToken.objects.exists()
    answer = browser.post(path)
    api = APIClient(shown(answer))
    assert api.get("/v4/profile").json()["username"] == "owner"
    assert api.get("/v4/domains").status_code == 401
    assert "no-store" in answer["Cache-Control"]
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")
    token = PersonalToken.objects.get()
    assert (token.label, token.scopes, token.expiry) == ("ci", "computes:read_only", None)


def test_a_second_time_answers_404_and_makes_no_token(owner):
    path = link_to(owner)
    shown(Client().post(path))
    for answer in (Client().post(path), Client().get(path)):
        assert answer.status_code == 404
        assert GONE in answer.content.decode()
    assert PersonalToken.objects.count() == 1
    assert not TokenLink.objects.exists()


def test_the_account_reads_who_made_link_and_token(owner):
    shown(Client().post(link_to(owner, reason="New laptop")))
    events = Event.objects.order_by("pk").values_list("action", "username", "message", "entity_type")
    assert list(events) == [
        ("profile_update", "staff", "Support made a link to a token, ci: New laptop", "profile"),
        ("token_create", "staff", "", "token"),
    ]  # fmt: skip


def test_nothing_readable_is_kept(owner):
    path, browser = link_to(owner), Client()
    key = path.rpartition("/")[2]
    assert key not in str(TokenLink.objects.values().get()) + str(list(Event.objects.values()))
    token = shown(browser.post(path))
    for each in (key, token):
        assert each not in str(PersonalToken.objects.values().get()) + str(list(Event.objects.values()))
        assert each not in kept_in_sessions() + str(browser.cookies)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda user: TokenLink.objects.update(expiry=now()),
        lambda user: TokenLink.objects.update(token_expiry=now()),
        lambda user: User.objects.update(is_active=False),
        lambda user: Account.objects.update(is_active=False),
        lambda user: access.log_out(None, user, "Stolen laptop", tokens=True),
        lambda user: token_links.take_back(Actor(user.account_id), TokenLink.objects.select_related("user").get()),
    ],
    ids=["too old", "a token too old", "suspended user", "suspended account", "all tokens ended", "taken back"],
)
def test_an_ended_link_shows_that_it_has_ended(owner, spoil):
    path = link_to(owner)
    spoil(owner)
    for answer in (Client().get(path), Client().post(path)):
        assert answer.status_code == 404
        assert GONE in answer.content.decode()
    assert not PersonalToken.objects.exists()


@pytest.mark.parametrize("key", ["x", "A" * 43, "-" * 2000])
def test_unknown_links_show_the_page_of_ended_links(db, key):
    assert GONE in Client().get(f"/token/{key}").content.decode()


def test_without_the_cookie_of_the_form_nothing_is_shown(owner):
    path = link_to(owner)
    assert Client(enforce_csrf_checks=True).post(path).status_code == 403
    assert not PersonalToken.objects.exists()
    assert TokenLink.objects.exists()


def test_one_token_too_many_is_refused_and_the_link_stays(owner, settings):
    path = link_to(owner)
    PersonalTokenFactory(user=owner)
    settings.QUOTA_TOKENS = 1
    answer = Client().post(path)
    assert answer.status_code == 400
    assert "tokens" in answer.content.decode()
    assert PersonalToken.objects.count() == 1
    settings.QUOTA_TOKENS = 2
    shown(Client().post(path))


def test_a_link_ends_with_the_setting_or_with_its_token(owner, settings):
    settings.TOKEN_LINK_GOOD = timedelta(hours=2)
    link_to(owner)
    assert timedelta(hours=1.9) < TokenLink.objects.get().expiry - now() <= timedelta(hours=2)
    TokenLink.objects.all().delete()
    soon = now() + timedelta(minutes=5)
    link_to(owner, expiry=soon)
    assert TokenLink.objects.get().expiry == soon


def test_all_errors_of_a_link_are_reported_together(owner, staff):
    actor = Actor(owner.account_id, username="staff")
    with pytest.raises(Invalid) as caught:
        token_links.make_link(actor, owner, "", "x", now() - timedelta(days=1))
    assert [problem.field for problem in caught.value.problems] == ["label", "scopes", "expiry"]
    with pytest.raises(Invalid, match="has no account"):
        token_links.make_link(actor, staff, "ci")
    for _ in range(token_links.MAX_LINKS):
        link_to(owner)
    with pytest.raises(Invalid, match="has 20 unused links"):
        link_to(owner)
    assert TokenLink.objects.count() == token_links.MAX_LINKS


def test_old_ones_are_deleted_at_night(owner):
    link_to(owner)
    retention.delete_old()
    assert TokenLink.objects.exists()
    TokenLink.objects.update(expiry=now() - timedelta(minutes=1))
    retention.delete_old()
    assert not TokenLink.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_of_two_simultaneous_clicks_gets_the_token(owner):
    path = link_to(owner)

    def press(_: int) -> int:
        try:
            return Client().post(path).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(press, range(4)))
    assert answers == [200, 404, 404, 404]
    assert PersonalToken.objects.count() == 1
