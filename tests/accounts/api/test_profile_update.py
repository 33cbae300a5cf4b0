"""Changes that users make to their own profile."""

import pytest

from accounts.models import Event, User
from tests.client import errors
from tests.factories import UserFactory

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
PATH = "/v4/profile"


def test_everything_that_can_change_changes_with_one_event(api):
    wanted = {
        "email": "new@example.com",
        "timezone": "America/Argentina/Buenos_Aires",
        "email_notifications": False,
        "lish_auth_method": "keys_only",
        "authorized_keys": [KEY],
    }
    changed = api.put(PATH, wanted).json()
    assert changed == {**changed, **wanted}
    assert api.get(PATH).json() == changed
    assert Event.objects.get().action == "profile_update"


def test_a_put_of_the_answer_of_get_changes_nothing(api):
    before = api.get(PATH).json()
    assert api.put(PATH, before).json() == before
    assert not Event.objects.exists()


def test_read_only_fields_are_ignored(api):
    before = api.get(PATH).json()
    answer = api.put(PATH, {"uid": 1, "username": "root", "authentication_type": "github", "nonsense": 1})
    assert answer.json() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"timezone": "Middle/Earth"}, "timezone"),
        ({"timezone": ""}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"email": "nobody"}, "email"),
        ({"email": f"{'x' * 120}@example.com"}, "email"),
        ({"lish_auth_method": "telnet"}, "lish_auth_method"),
        ({"authorized_keys": [KEY, "no key"]}, "authorized_keys[1]"),
        ({"email_notifications": "yes"}, "email_notifications"),
        ({"ip_whitelist_enabled": True}, "ip_whitelist_enabled"),
    ],
    ids=str,
)
def test_bad_values_are_refused_by_name_and_change_nothing(api, body, field):
    before = api.get(PATH).json()
    answer = api.put(PATH, {"email_notifications": False, **body})
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert api.get(PATH).json() == before


def test_all_that_is_wrong_is_named_at_once(api):
    """Problems of shape, value and state are named together, in lists too."""
    answer = api.put(
        PATH,
        {
            "email": "nobody",
            "timezone": "Middle/Earth",
            "email_notifications": "yes",
            "lish_auth_method": "telnet",
            "authorized_keys": [7, KEY, "no key at all"],
            "two_factor_auth": True,
            "ip_whitelist_enabled": True,
            "restricted": True,
        },
    )
    assert errors(answer) == {
        "email": "email is not valid",
        "timezone": "timezone is not valid",
        "email_notifications": "email_notifications is not valid",
        "lish_auth_method": "lish_auth_method is not valid",
        "authorized_keys[0]": "authorized_keys is not valid",
        "authorized_keys[2]": "authorized_keys is not valid: SSH key type is not supported",
        "two_factor_auth": "Two-factor authentication is enabled with /profile/tfa-enable.",
        "ip_whitelist_enabled": "The IP whitelist cannot be enabled any more.",
        "restricted": "An account needs at least one unrestricted user.",
    }


def test_null_clears_the_keys_and_is_else_not_given(api):
    before = api.put(PATH, {"authorized_keys": [KEY], "timezone": "Europe/Oslo"}).json()
    nulls = dict.fromkeys(("email", "timezone", "email_notifications", "lish_auth_method", "two_factor_auth"))
    assert api.put(PATH, {**nulls, "authorized_keys": None}).json() == {**before, "authorized_keys": None}


def test_an_empty_list_of_keys_is_null(api, owner):
    api.put(PATH, {"authorized_keys": [KEY]})
    assert api.put(PATH, {"authorized_keys": []}).json()["authorized_keys"] is None
    assert Event.objects.filter(action="profile_update").count() == 2
    User.objects.filter(pk=owner.pk).update(lish_authorized_keys=[])
    assert api.get(PATH).json()["authorized_keys"] is None


def test_the_ip_whitelist_goes_and_does_not_come_back(api, owner):
    User.objects.filter(pk=owner.pk).update(ip_whitelist_enabled=True)
    assert api.put(PATH, {"ip_whitelist_enabled": True}).status_code == 200
    assert api.put(PATH, {"ip_whitelist_enabled": False}).json()["ip_whitelist_enabled"] is False
    assert api.put(PATH, {"ip_whitelist_enabled": True}).status_code == 400


class TestRestriction:
    def test_a_user_may_restrict_itself_where_another_one_is_left(self, api, account):
        UserFactory(account=account)
        assert api.put(PATH, {"restricted": True}).json()["restricted"] is True
        assert api.get("/v4/profile/grants").json()["global"]["account_access"] is None

    def test_the_last_one_may_not(self, api, restricted):
        answer = api.put(PATH, {"restricted": True})
        assert answer.json()["errors"] == [
            {"field": "restricted", "reason": "An account needs at least one unrestricted user."}
        ]
        assert api.get(PATH).json()["restricted"] is False

    def test_a_user_cannot_lift_its_own_restriction(self, client_for, restricted):
        api = client_for(restricted)
        answer = api.put(PATH, {"restricted": False, "timezone": "UTC"})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (403, "restricted")
        assert api.get(PATH).json()["restricted"] is True


def test_it_needs_the_write_scope(client_for, owner):
    assert client_for(owner, "account:read_only").put(PATH, {"timezone": "UTC"}).status_code == 401
