"""The acting user and the user's permissions."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, GlobalGrants, Message
from config.encryption import decrypt_json
from tests.factories import GrantFactory, ImageFactory, InstanceFactory, UserFactory

NO_GRANTS = {
    "account_access": None,
    "add_computes": False,
    "add_databases": False,
    "add_domains": False,
    "add_firewalls": False,
    "add_images": False,
    "add_longview": False,
    "add_nodebalancers": False,
    "add_stackscripts": False,
    "add_volumes": False,
    "cancel_account": False,
    "longview_subscription": False,
}
NO_REFERRALS = {"code": "", "url": "", "total": 0, "completed": 0, "pending": 0, "credit": 0}


def test_the_profile_is_the_acting_users(client_for, owner):
    assert client_for(owner).get("/v4/profile").json() == {
        "uid": owner.pk,
        "username": "owner",
        "email": "owner@example.com",
        "verified_phone_number": None,
        "timezone": "UTC",
        "email_notifications": True,
        "ip_whitelist_enabled": False,
        "referrals": NO_REFERRALS,
        "lish_auth_method": "password_keys",
        "authorized_keys": None,
        "two_factor_auth": False,
        "restricted": False,
        "authentication_type": "password",
    }


class TestReferrals:
    @pytest.mark.parametrize(("paid", "own"), [("0", False), ("24.99", False), ("25.00", True), ("9000", True)])
    def test_are_the_accounts_own_once_it_has_paid_25_dollars(self, api, account, paid, own):
        Account.objects.filter(pk=account.pk).update(total_payments=paid)
        got = api.get("/v4/profile").json()
        assert (got["referrals"] != NO_REFERRALS) is own
        assert api.put("/v4/profile", got).json() == got, "the answer to a change shows the same"

    def test_have_one_code_for_all_users_of_an_account(self, api, client_for, account, restricted, settings):
        other = UserFactory()
        Account.objects.update(total_payments=25)
        mine, same, others = (
            client.get("/v4/profile").json()["referrals"]
            for client in (api, client_for(restricted), client_for(other))
        )
        assert mine == {**NO_REFERRALS, "code": mine["code"], "url": f"{settings.SITE_URL}/?r={mine['code']}"}
        assert mine == same
        assert mine["code"] != others["code"]


def test_profile_and_grants_need_a_token_but_no_scope(client_for, owner, restricted, anonymous):
    for user in (owner, restricted):
        api = client_for(user, "longview:read_only")
        assert api.get("/v4/profile").json()["username"] == user.username
        assert api.get("/v4/profile")["X-Accepted-OAuth-Scopes"] == "*"
        assert api.get("/v4/profile/grants").status_code in (200, 204)
    for path in ("/v4/profile", "/v4/profile/grants"):
        assert anonymous.get(path).status_code == 401


def test_an_unrestricted_user_has_no_grants_to_list(client_for, owner):
    answer = client_for(owner).get("/v4/profile/grants")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Content-Type" not in answer.headers


def test_a_restricted_user_without_grants_has_all_grants_off(client_for, restricted):
    GlobalGrants.objects.all().delete()
    assert client_for(restricted).get("/v4/profile/grants").json() == {"global": NO_GRANTS}


def test_grants_are_listed_by_kind(client_for, account, restricted):
    read, write, _ = InstanceFactory.create_batch(3, account=account)
    GrantFactory(user=restricted, entity_id=write.pk, permissions="read_write")
    GrantFactory(user=restricted, entity_id=read.pk)
    GlobalGrants.objects.update(add_computes=True)
    assert client_for(restricted).get("/v4/profile/grants").json() == {
        "global": {**NO_GRANTS, "account_access": "read_only", "add_computes": True},
        "compute": [
            {"id": read.pk, "label": read.label, "permissions": "read_only"},
            {"id": write.pk, "label": write.label, "permissions": "read_write"},
        ],
    }


def test_grants_name_an_image_by_its_number(client_for, account, restricted):
    image = ImageFactory(id="private/71", number=71, account=account, is_public=False, label="golden")
    GrantFactory(user=restricted, entity_type="image", entity_id=image.number, permissions="read_write")
    ImageFactory(id="private/72", number=72, account=account, is_public=False)
    answer = client_for(restricted).get("/v4/profile/grants").json()
    assert answer["image"] == [{"id": 71, "label": "golden", "permissions": "read_write"}]


def test_a_grant_reaches_into_no_other_account(client_for, restricted):
    GrantFactory(user=restricted, entity_id=InstanceFactory().pk)
    assert "compute" not in client_for(restricted).get("/v4/profile/grants").json()


def test_listing_grants_takes_two_queries_however_many_there_are(client_for, account, restricted):
    api = client_for(restricted)
    for more in (1, 5):
        for instance in InstanceFactory.create_batch(more, account=account):
            GrantFactory(user=restricted, entity_id=instance.pk)
        with CaptureQueriesContext(connection) as queries:
            api.get("/v4/profile/grants")
        assert len(queries) == 2, [query["sql"] for query in queries]


@pytest.mark.parametrize("field", ["is_active", "account__is_active"])
def test_a_token_of_the_suspended_is_no_token(client_for, owner, field):
    api = client_for(owner)
    suspended = owner.account if "__" in field else owner
    suspended.is_active = False
    suspended.save()
    answer = api.get("/v4/profile")
    assert (answer.status_code, answer.json()["errors"][0]["reason"]) == (401, "Invalid Token")


class TestMailAddress:
    """The former address is notified of every change."""

    @staticmethod
    def notifications() -> list[tuple[str, str]]:
        return list(Message.objects.order_by("id").values_list("recipient", "subject"))

    def test_of_the_acting_user(self, api, owner):
        assert api.put("/v4/profile", {"email": "new@example.com"}).status_code == 200
        assert self.notifications() == [("owner@example.com", "Your mail address was changed")]
        assert "owner" in decrypt_json(Message.objects.get().encrypted)["text"]

    def test_of_another_user(self, api, restricted):
        former, path = restricted.email, f"/v4/account/users/{restricted.username}"
        assert api.put(path, {"email": "new@example.com"}).status_code == 200
        assert self.notifications() == [(former, "Your mail address was changed")]

    def test_no_mail_without_a_change(self, api, owner, restricted):
        answers = [
            api.put("/v4/profile", {"email": owner.email, "timezone": "Europe/Oslo"}),
            api.put("/v4/profile", {"email": "no address"}),
            api.put(f"/v4/account/users/{restricted.username}", {"username": "another-name"}),
        ]
        assert [answer.status_code for answer in answers] == [200, 400, 200]
        assert self.notifications() == []
