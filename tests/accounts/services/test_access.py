"""The access of apps to users: when it ends, what creates and ends tokens, and what ends together with access."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import (
    Authorization,
    OAuthAccessToken,
    OAuthClient,
    OAuthRefreshToken,
    PersonalToken,
    User,
)
from accounts.services import access, oauth_clients, users
from accounts.services.tokens import create_token
from config.errors import Denied
from tests.accounts.apps import App, call
from tests.racing import held_up

pytestmark = pytest.mark.django_db
IDLE = timedelta(days=90)
TOKENS, PROFILE = "/v4/profile/tokens", "/v4/profile"
NEVER = "2999-12-12T05:00:00"


def true_end(user: User, client: OAuthClient) -> datetime | None:
    """Return when the app's last usable token expires, by looking at each token."""
    ends = [
        token.expires
        for token in OAuthAccessToken.objects.filter(user=user, application=client)
        if token.expires > now()
    ]
    for token in OAuthRefreshToken.objects.filter(user=user, application=client, revoked=None):
        if token.access_token is not None and client.client_type == OAuthClient.CLIENT_CONFIDENTIAL:
            ends.append(token.access_token.expires + IDLE)
    return max(ends, default=None)


def noted_end(user: User, client: OAuthClient) -> datetime | None:
    """Return when access ends according to the app's entry. None if there is no entry."""
    found = Authorization.objects.active().filter(user=user, client=client).first()
    return None if found is None else found.expiry


def acting(user: User) -> Actor:
    return Actor(user.account_id or 0, user.pk, user.username)


class Life:
    """An app and its user, who take random actions with the tokens that exist."""

    def __init__(self, app: App, user: User, chance: random.Random):
        self.app, self.user, self.chance = app, user, chance
        self.codes: list[str] = []
        self.given: list[dict] = []

    def begin(self) -> None:
        self.codes.append(self.app.code(self.user))
        self.exchange()

    def one_of(self, there: list) -> Any:
        """Return mostly the last item, and seldom an earlier one."""
        return there[-1] if self.chance.random() < 0.9 else self.chance.choice(there)

    def exchange(self) -> None:
        if self.codes:
            answer = self.app.exchange(self.one_of(self.codes))
            if answer.status_code == 200:
                self.given.append(answer.json())

    def refresh(self) -> None:
        if tokens := [each["refresh_token"] for each in self.given if "refresh_token" in each]:
            answer = self.app.refresh(self.one_of(tokens))
            if answer.status_code == 200:
                self.given.append(answer.json())

    def revoke(self) -> None:
        if self.given:
            given = self.one_of(self.given)
            self.app.revoke(given[self.chance.choice([name for name in given if name.endswith("_token")])])

    def be_revoked_by_staff(self) -> None:
        rows = [*OAuthAccessToken.objects.all(), *OAuthRefreshToken.objects.filter(revoked=None)]
        if rows:
            access.revoke_token(acting(self.user), self.chance.choice(rows))

    def age(self) -> None:
        OAuthAccessToken.objects.update(expires=now() - timedelta(minutes=self.chance.randint(1, 100)))

    def be_public_for_a_while(self) -> None:
        for public in (True, False):
            client = OAuthClient.objects.get(pk=self.app.client.pk)
            oauth_clients.update(acting(self.user), client, {"public": public})
        self.app.secret = oauth_clients.reset_secret(acting(self.user), client)

    def be_deleted(self) -> None:
        for found in Authorization.objects.active():
            access.revoke_app(acting(self.user), found)


@pytest.mark.generated
@pytest.mark.parametrize("seed", range(3))
def test_the_noted_end_of_access_is_right_after_random_actions(web, owner, seed):
    chance = random.Random(seed)
    life = Life(web, owner, chance)
    often = [life.begin, life.begin, life.exchange, life.refresh]
    seldom = [life.revoke, life.be_revoked_by_staff, life.be_public_for_a_while, life.be_deleted]
    listed = 0
    for _ in range(50):
        chance.choice(often * 2 + seldom)()
        found = Authorization.objects.filter(user=owner, client=web.client).count()
        assert noted_end(owner, web.client) == true_end(owner, web.client)
        assert found == (true_end(owner, web.client) is not None)
        listed += found
    assert 5 < listed < 50, "there is something to see, and there is not"


def test_tokens_that_end_by_themselves_end_the_entry_at_that_moment(web, spa, owner):
    for app, last in ((spa, timedelta()), (web, IDLE)):
        app.tokens(owner)
        entry = Authorization.objects.get(client=app.client)
        assert entry.expiry == OAuthAccessToken.objects.get(application=app.client).expires + last


def test_the_upgrade_works_out_the_end_of_access_that_was_there_before(web, spa, owner, restricted):
    for app in (web, spa):
        app.tokens(owner)
    web.revoke(web.tokens(restricted)["access_token"])
    Authorization.objects.create(user=restricted, client=web.client, scopes="*")
    Authorization.objects.update(expiry=None)
    import_module("accounts.migrations.0007_ends_of_authorizations").fill(apps, None)
    for app, user in ((web, owner), (spa, owner), (web, restricted)):
        assert noted_end(user, app.client) == true_end(user, app.client)


def test_a_client_that_becomes_public_keeps_its_access_tokens(web, owner, restricted):
    for user in (owner, restricted):
        web.tokens(user)
    oauth_clients.update(acting(owner), web.client, {"public": True})
    for user in (owner, restricted):
        assert noted_end(user, web.client) == OAuthAccessToken.objects.get(user=user).expires
    assert not OAuthRefreshToken.objects.exists()


class TestPersonalTokensOfApps:
    def made(self, app: App, user: User, **body) -> dict:
        """Create a personal token as an app, and return the answer."""
        bearer = app.tokens(user, "account:read_write computes:read_only")["access_token"]
        return post(bearer, body)

    def end(self, made: dict) -> str:
        """Return the token's expiry, after a check that the answer shows the stored value."""
        kept = PersonalToken.objects.get(pk=made["id"]).expiry
        assert kept is not None
        assert made["expiry"] == kept.strftime("%Y-%m-%dT%H:%M:%S")
        return made["expiry"]

    @pytest.mark.parametrize(
        "wish",
        [{}, {"expiry": None}, {"expiry": "2999-12-12T05:00:00"}, {"expiry": "2099-01-01T00:00:00"}],
        ids=str,
    )
    def test_end_with_the_apps_access_at_the_latest(self, app, owner, wish):
        made = self.made(app, owner, **wish)
        assert self.end(made) == true_end(owner, app.client).strftime("%Y-%m-%dT%H:%M:%S")
        assert call(made["token"], PROFILE).status_code == 200
        assert PersonalToken.objects.get(pk=made["id"]).client == app.client

    def test_end_earlier_where_that_is_asked_for(self, app, owner):
        soon = (now() + timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%S")
        assert self.made(app, owner, expiry=soon)["expiry"] == soon

    def test_are_no_wider_than_the_token_that_makes_them(self, app, owner):
        bearer = app.tokens(owner, "account:read_write computes:read_only")["access_token"]
        assert post(bearer, {})["scopes"] == "account:read_write computes:read_only"
        assert post(bearer, {"scopes": "computes:read_only"})["scopes"] == "computes:read_only"
        assert post(bearer, {"scopes": "*"}, 403)["errors"][0]["field"] == "scopes"

    def test_make_others_that_are_the_apps_too(self, app, owner):
        made = self.made(app, owner, expiry=(now() + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%S"))
        again = post(made["token"], {})
        assert self.end(again) == true_end(owner, app.client).strftime("%Y-%m-%dT%H:%M:%S")
        access.revoke_app(acting(owner), Authorization.objects.get())
        assert call(made["token"], PROFILE).status_code == call(again["token"], PROFILE).status_code == 401

    def test_end_when_the_user_revokes_the_app(self, app, owner, api):
        made = self.made(app, owner)
        [entry] = api.get("/v4/profile/apps").json()["data"]
        api.delete(f"/v4/profile/apps/{entry['id']}")
        assert call(made["token"], PROFILE).status_code == 401
        assert api.get(f"{TOKENS}/{made['id']}").status_code == 404

    def test_end_when_the_apps_last_token_is_revoked_and_stay_so(self, app, owner):
        made = self.made(app, owner)
        last = app.tokens(owner, "account:read_write")
        for token in OAuthAccessToken.objects.exclude(scope="account:read_write"):
            access.revoke_token(acting(owner), token)
        assert call(made["token"], PROFILE).status_code == 200
        app.revoke(last["access_token"])
        assert call(made["token"], PROFILE).status_code == 401
        app.tokens(owner)
        assert call(made["token"], PROFILE).status_code == 401

    def test_end_when_a_code_or_a_refresh_token_turns_out_to_be_copied(self, web, owner):
        code = web.code(owner, "account:read_write")
        made = post(web.exchange(code).json()["access_token"], {})
        web.exchange(code)
        assert call(made["token"], PROFILE).status_code == 401
        first = web.tokens(owner, "account:read_write")
        made = post(first["access_token"], {})
        web.refresh(first["refresh_token"])
        assert call(made["token"], PROFILE).status_code == 200
        web.refresh(first["refresh_token"])
        assert call(made["token"], PROFILE).status_code == 401

    def test_end_sooner_when_the_apps_access_does(self, web, owner):
        """The app has two tokens. The one with the later expiry is revoked."""
        first = web.tokens(owner, "account:read_write")
        OAuthAccessToken.objects.update(expires=now() + timedelta(minutes=10))
        second = web.tokens(owner, "account:read_write")
        made = post(first["access_token"], {})
        end = self.end(made)
        web.revoke(second["access_token"])
        kept = PersonalToken.objects.get(pk=made["id"])
        assert kept.expiry == true_end(owner, web.client)
        assert kept.expiry.strftime("%Y-%m-%dT%H:%M:%S") < end
        assert call(made["token"], PROFILE).status_code == 200

    def test_live_no_longer_when_the_apps_access_does(self, web, owner):
        """The answer named the expiry. The app can create another token."""
        given = web.tokens(owner, "account:read_write")
        OAuthAccessToken.objects.update(expires=now() + timedelta(minutes=10))
        made = post(given["access_token"], {})
        web.refresh(given["refresh_token"])
        kept = PersonalToken.objects.get(pk=made["id"]).expiry
        assert kept is not None
        assert kept < true_end(owner, web.client)

    def test_end_when_the_client_becomes_public_no_later_than_its_access_tokens(self, web, owner):
        made = self.made(web, owner)
        oauth_clients.update(acting(owner), web.client, {"public": True})
        assert PersonalToken.objects.get(pk=made["id"]).expiry == OAuthAccessToken.objects.get().expires

    @pytest.mark.parametrize("status", ["disabled", "suspended"])
    def test_are_refused_while_the_client_is_stopped(self, app, owner, status):
        made = self.made(app, owner)
        oauth_clients.set_status(None, app.client, status)
        assert call(made["token"], PROFILE).status_code == 401
        oauth_clients.set_status(None, app.client, "active")
        assert call(made["token"], PROFILE).status_code == (200 if status == "disabled" else 401)

    def test_are_refused_while_the_clients_account_is_suspended(self, owner, stranger):
        made = self.made(App(public=False, account=stranger.account), owner)
        stranger.account.is_active = False
        stranger.account.save(update_fields=["is_active"])
        assert call(made["token"], PROFILE).status_code == 401

    def test_end_with_the_client(self, app, owner):
        made = self.made(app, owner)
        app.client.delete()
        assert call(made["token"], PROFILE).status_code == 401
        assert not PersonalToken.objects.filter(pk=made["id"]).exists()

    def test_leave_those_of_the_user_and_of_other_apps_alone(self, web, spa, owner, restricted):
        kept = [create_token(owner, "own")[1], self.made(spa, owner)["token"], self.made(web, restricted)["token"]]
        self.made(web, owner)
        for entry in Authorization.objects.filter(client=web.client, user=owner):
            access.revoke_app(acting(owner), entry)
        assert [call(token, PROFILE).status_code for token in kept] == [200, 200, 200]

    def test_keep_the_preferences_of_the_app(self, web, owner, api):
        path = "/v4/profile/preferences"
        api.put(path, {"of": "the user"})
        made = self.made(web, owner)
        assert call(made["token"], path).json() == {}
        assert api.get(path).json() == {"of": "the user"}


class TestTokensOfTheUsersOwn:
    def test_may_live_longer_than_the_one_that_makes_them(self, owner):
        _, short = create_token(owner, "short", expiry=now() + timedelta(minutes=5))
        assert post(short, {})["expiry"] == NEVER
        assert post(short, {"expiry": "2099-01-01T00:00:00"})["expiry"] == "2099-01-01T00:00:00"
        assert not PersonalToken.objects.exclude(client=None).exists()


def post(bearer: str, body: dict, status: int = 200) -> dict:
    """Create a personal token, and return the answer."""
    headers = {"HTTP_AUTHORIZATION": f"Bearer {bearer}"}
    answer = Client().post(TOKENS, body, content_type="application/json", **headers)
    assert answer.status_code == status, answer.content
    return answer.json()


def closing(act):
    """Wrap `act` for a thread that has a database connection of its own."""
    try:
        return act()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def app_of(self, owner: User) -> tuple[App, Authorization, Actor]:
        """Return an app with a token of the owner's, its entry, and the app as the caller of a service."""
        web = App(public=False)
        web.tokens(owner)
        return web, Authorization.objects.get(), Actor(owner.account_id, owner.pk, "owner", client_id=web.id)

    def test_a_token_made_while_the_app_is_revoked_is_not_left(self, owner):
        """The request that makes the token was authorized before the app is revoked."""
        _, entry, actor = self.app_of(owner)
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                access.revoke_app(acting(owner), entry)
                making = pool.submit(closing, lambda: create_token(owner, "late", actor=actor))
                assert held_up()
            with pytest.raises(Denied):
                making.result()
        assert not PersonalToken.objects.exists()

    def test_an_app_revoked_while_it_makes_a_token_takes_it_along(self, owner):
        _, entry, actor = self.app_of(owner)
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                create_token(owner, "in time", actor=actor)
                revoking = pool.submit(closing, lambda: access.revoke_app(acting(owner), entry))
                assert held_up()
            revoking.result()
        assert not PersonalToken.objects.exists()

    def test_a_code_exchanged_while_the_last_token_is_revoked_makes_another_entry(self, owner):
        web, entry, _ = self.app_of(owner)
        code, token = web.code(owner), OAuthAccessToken.objects.get()
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                access.revoke_token(acting(owner), token)
                exchanging = pool.submit(closing, lambda: web.exchange(code))
                assert held_up()
            assert exchanging.result().status_code == 200
        again = Authorization.objects.get()
        assert again.pk != entry.pk
        assert again.expiry == true_end(owner, web.client)

    def test_a_user_deleted_while_an_app_gets_a_token_takes_it_along(self, owner, restricted):
        web, entry, _ = self.app_of(restricted)
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                authorization = access.lock_authorization(restricted, web.client)
                deleting = pool.submit(closing, lambda: users.remove(acting(owner), restricted))
                assert held_up()
                end = now() + timedelta(hours=1)
                OAuthAccessToken.objects.create(user=restricted, application=web.client, token="t", expires=end)
                access.settle([authorization])
            deleting.result()
        assert not OAuthAccessToken.objects.exists()
        assert not Authorization.objects.filter(pk=entry.pk).exists()
