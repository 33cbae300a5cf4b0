"""Apps, trusted devices and logins: the access of a user, and how it is revoked."""

import threading
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction
from django.utils.timezone import now

from accounts.models import Authorization, Event, Login, OAuthAccessToken, OAuthRefreshToken, TrustedDevice
from accounts.services import access, logins
from tests.accounts.apps import browser_of, call
from tests.factories import PICTURE, OAuthClientFactory, TrustedDeviceFactory
from tests.racing import held_up

APPS, DEVICES = "/v4/profile/apps", "/v4/profile/devices"


def written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


class TestApps:
    def test_an_app_with_several_tokens_is_one_entry(self, api, owner, web):
        web.tokens(owner, "computes:read_only")
        web.tokens(owner, "computes:read_only events:read_only")
        [app] = api.get(APPS).json()["data"]
        assert (app["label"], app["scopes"]) == ("Dashboard", "computes:read_only events:read_only")
        assert (app["website"], app["thumbnail_url"]) == ("https://app.example", None)
        assert api.get(f"{APPS}/{app['id']}").json() == app

    def test_earlier_scopes_are_listed_while_their_tokens_work(self, api, owner, web):
        wide = web.tokens(owner, "computes:read_write events:read_only")
        web.tokens(owner, "domains:read_only")
        [app] = api.get(APPS).json()["data"]
        assert app["scopes"] == "computes:read_write events:read_only domains:read_only"
        assert call(wide["access_token"]).status_code == 200
        api.delete(f"{APPS}/{app['id']}")
        web.tokens(owner, "domains:read_only")
        assert api.get(APPS).json()["data"][0]["scopes"] == "domains:read_only"

    def test_scopes_of_ended_access_are_not_listed(self, api, owner, spa):
        spa.tokens(owner, "*")
        Authorization.objects.update(expiry=now() - timedelta(seconds=1))
        spa.tokens(owner, "domains:read_only")
        assert api.get(APPS).json()["data"][0]["scopes"] == "domains:read_only"

    def test_a_public_apps_access_ends_with_its_last_token(self, api, owner, spa):
        spa.tokens(owner)
        first = OAuthAccessToken.objects.get()
        OAuthAccessToken.objects.update(expires=first.expires - timedelta(hours=1))
        spa.tokens(owner)
        [app] = api.get(APPS).json()["data"]
        assert app["expiry"] == written(OAuthAccessToken.objects.latest("expires").expires)
        Authorization.objects.update(expiry=now() - timedelta(seconds=1))
        assert api.get(APPS).json()["results"] == 0
        assert api.get(f"{APPS}/{app['id']}").status_code == 404

    def test_a_confidential_apps_ends_with_its_last_refresh_token(self, api, owner, web):
        tokens = web.tokens(owner)
        [app] = api.get(APPS).json()["data"]
        assert app["expiry"] == written(OAuthAccessToken.objects.get().expires + timedelta(days=90))
        OAuthAccessToken.objects.update(expires=now() - timedelta(days=1))
        web.refresh(tokens["refresh_token"])
        [later] = api.get(APPS).json()["data"]
        assert later["expiry"] == written(OAuthAccessToken.objects.get().expires + timedelta(days=90))
        assert later["id"] == app["id"]

    def test_an_app_is_listed_from_its_first_token_on(self, api, owner, app):
        code = app.code(owner)
        assert api.get(APPS).json()["results"] == 0
        app.exchange(code)
        assert api.get(APPS).json()["results"] == 1

    def test_an_app_without_tokens_is_not_listed(self, api, owner, app):
        first, second = app.tokens(owner), app.tokens(owner)
        app.revoke(first["access_token"])
        [shown] = api.get(APPS).json()["data"]
        app.revoke(second.get("refresh_token", second["access_token"]))
        assert api.get(APPS).json()["results"] == 0
        assert api.get(f"{APPS}/{shown['id']}").status_code == 404
        app.tokens(owner, "domains:read_only")
        [again] = api.get(APPS).json()["data"]
        assert again["id"] != shown["id"]
        assert again["scopes"] == "domains:read_only"

    def test_its_picture_is_where_the_entry_says(self, api, owner, web):
        type(web.client).objects.filter(pk=web.client.pk).update(thumbnail=PICTURE)
        web.tokens(owner)
        [app] = api.get(APPS).json()["data"]
        assert app["thumbnail_url"].endswith(f"/v4/account/oauth-clients/{web.id}/thumbnail")

    def test_deleting_one_ends_all_its_tokens_at_the_next_request(self, api, owner, restricted, web):
        mine, more, others = web.tokens(owner), web.tokens(owner), web.tokens(restricted)
        code = web.code(owner)
        [app] = api.get(APPS).json()["data"]
        assert api.delete(f"{APPS}/{app['id']}").json() == {}
        for tokens in (mine, more):
            assert call(tokens["access_token"]).status_code == 401
            assert web.refresh(tokens["refresh_token"]).status_code == 400
        assert web.exchange(code).status_code == 400
        assert call(others["access_token"]).status_code == 200
        assert api.get(APPS).json()["results"] == 0
        assert not OAuthAccessToken.objects.filter(user=owner).exists()
        assert not OAuthRefreshToken.objects.filter(user=owner).exists()
        assert Event.objects.get(action="profile_update").secondary_label == "Dashboard"
        assert api.delete(f"{APPS}/{app['id']}").status_code == 404

    def test_nobody_sees_or_ends_those_of_others(self, client_for, owner, restricted, web):
        web.tokens(owner)
        other = client_for(restricted)
        assert other.get(APPS).json()["results"] == 0
        assert other.delete(f"{APPS}/{Authorization.objects.get().pk}").status_code == 404
        assert Authorization.objects.exists()

    def test_a_refused_consent_adds_no_app(self, api, owner, web):
        web.consent(browser_of(owner), allow=False)
        assert api.get(APPS).json()["results"] == 0

    def test_they_can_be_filtered_by_time(self, api, owner, web):
        web.tokens(owner)
        assert api.get(APPS, {"created": {"+lt": "2020-01-01T00:00:00"}}).json()["results"] == 0
        assert api.get(APPS, {"expiry": None}).json()["results"] == 0
        assert api.get(APPS, {"expiry": {"+gt": written(now())}}).json()["results"] == 1


class TestDevices:
    def test_only_active_ones_are_listed_and_can_be_revoked(self, api, owner):
        device = TrustedDeviceFactory(user=owner)
        TrustedDeviceFactory(user=owner, expiry=now() - timedelta(seconds=1))
        TrustedDeviceFactory()
        [shown] = api.get(DEVICES).json()["data"]
        assert (shown["id"], shown["user_agent"], shown["last_remote_addr"]) == (
            device.pk, "Mozilla/5.0", "198.51.100.7",
        )  # fmt: skip
        assert api.get(f"{DEVICES}/{device.pk}").json() == shown
        assert api.delete(f"{DEVICES}/{device.pk}").json() == {}
        assert api.delete(f"{DEVICES}/{device.pk}").status_code == 404
        assert TrustedDevice.objects.count() == 2
        assert Event.objects.get().action == "profile_update"

    def test_they_can_be_ordered_by_address_and_by_expiry(self, api, owner):
        made = [
            TrustedDeviceFactory(user=owner, expiry=now() + timedelta(days=days), last_remote_addr=address).pk
            for days, address in ((9, "198.51.100.70"), (3, "198.51.100.9"), (5, "2001:db8::1"))
        ]

        def listed(x_filter: dict) -> list[int]:
            return [device["id"] for device in api.get(DEVICES, x_filter).json()["data"]]

        assert listed({}) == made
        assert listed({"+order_by": "expiry", "+order": "desc"}) == [made[0], made[2], made[1]]
        assert listed({"+order_by": "last_remote_addr"}) == [made[1], made[0], made[2]]
        assert listed({"last_remote_addr": "198.51.100.9"}) == [made[1]]


class TestLogins:
    def test_a_user_sees_its_own_of_the_last_90_days_newest_first(self, api, owner, restricted):
        first, second, old = (logins.note(owner, ip) for ip in ("198.51.100.7", "2001:db8::1", "::1"))
        logins.note(restricted, "::1")
        Login.objects.filter(pk=old.pk).update(created=now() - timedelta(days=91))
        listed = api.get("/v4/profile/logins").json()["data"]
        assert [each["id"] for each in listed] == [second.pk, first.pk]
        assert (listed[0]["ip"], listed[0]["username"], listed[0]["restricted"]) == ("2001:db8::1", "owner", False)
        assert all((each["status"], each["successful"]) == ("successful", True) for each in listed)
        assert api.get(f"/v4/profile/logins/{old.pk}").status_code == 404

    def test_the_account_has_those_of_all_its_users(self, api, client_for, owner, restricted, stranger):
        mine, theirs, foreign = (logins.note(user, "::1") for user in (owner, restricted, stranger))
        listed = api.get("/v4/account/logins").json()["data"]
        assert [each["id"] for each in listed] == [theirs.pk, mine.pk]
        assert api.get(f"/v4/account/logins/{foreign.pk}").status_code == 404
        assert client_for(restricted).get("/v4/account/logins").status_code == 403

    def test_they_outlive_their_user(self, api, owner, restricted):
        logins.note(restricted, "::1")
        restricted.delete()
        assert api.get("/v4/account/logins").json()["data"][0]["username"] == "restricted"


@pytest.mark.django_db(transaction=True)
def test_a_refresh_while_tokens_are_ended_leaves_no_token(owner):
    mine = {"user": owner, "application": OAuthClientFactory()}
    OAuthRefreshToken.objects.create(token="old", **mine)
    ended = []

    def end() -> None:
        try:
            with transaction.atomic():
                ended.append(access.end_tokens(mine["application"], owner))
        finally:
            connection.close()

    with transaction.atomic():
        OAuthRefreshToken.objects.select_for_update().get().revoke()
        ending = threading.Thread(target=end)
        ending.start()
        assert held_up()
        OAuthAccessToken.objects.create(token="access", expires=now() + timedelta(hours=2), **mine)
        OAuthRefreshToken.objects.create(token="new", **mine)
    ending.join()

    assert ended == [3]
    assert not OAuthAccessToken.objects.exists()
    assert not OAuthRefreshToken.objects.exists()
