"""The account as a whole, and its settings."""

import pytest

from accounts.models import Account, Event, GlobalGrants
from tests.client import errors


def test_the_account_is_the_acting_users(api, account):
    shown = api.get("/v4/account").json()
    assert (shown["company"], shown["email"], shown["euuid"]) == ("Cast", "cast@example.com", str(account.euuid))
    assert (shown["balance"], shown["active_promotions"], shown["billing_source"]) == (0.0, [], "compute")
    assert "Computes" in shown["capabilities"]


def test_name_and_address_change_with_one_event(api):
    wanted = {
        "first_name": "Kari", "last_name": "Nordmann", "company": "Fjord AS", "email": "kari@example.com",
        "address_1": "Bryggen 1", "address_2": "", "city": "Bergen", "state": "Vestland", "zip": "5003",
        "country": "no", "phone": "+47 40612345", "tax_id": "NO123456789MVA",
    }  # fmt: skip
    changed = api.put("/v4/account", wanted).json()
    assert changed == {**changed, **wanted, "country": "NO"}
    assert api.get("/v4/account").json() == changed
    assert api.put("/v4/account", changed).json() == changed, "what was got can be put"
    assert Event.objects.get().action == "account_update"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tax_id": "x" * 26}, "tax_id"),
        ({"country": "XX"}, "country"),
        ({"country": "Norway"}, "country"),
        ({"email": "nobody"}, "email"),
        ({"email": ""}, "email"),
        ({"company": "x" * 129}, "company"),
        ({"city": "x" * 25}, "city"),
        ({"zip": 5003}, "zip"),
    ],
    ids=str,
)
def test_bad_values_are_refused_by_name_and_change_nothing(api, body, field):
    answer = api.put("/v4/account", {"first_name": "Kari", **body})
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert api.get("/v4/account").json()["first_name"] == ""


def test_a_tax_id_may_have_25_characters(api):
    assert api.put("/v4/account", {"tax_id": "x" * 25}).status_code == 200


def test_settings_change_and_have_an_event(api):
    assert api.get("/v4/account/settings").json() == {
        "managed": False, "longview_subscription": None, "network_helper": True, "backups_enabled": False,
        "object_storage": "disabled",
    }  # fmt: skip
    changed = api.put("/v4/account/settings", {"network_helper": False, "backups_enabled": True, "managed": True})
    assert changed.json() == {**changed.json(), "network_helper": False, "backups_enabled": True, "managed": False}
    assert Event.objects.get().action == "account_settings_update"


def test_all_that_is_wrong_is_named_at_once(api):
    answer = api.put("/v4/account", {"email": "nobody", "country": "XX", "city": "x" * 25, "zip": 5003})
    assert errors(answer) == {
        "email": "email is not valid",
        "country": "country is not valid",
        "city": "Length must be at most 24 characters",
        "zip": "zip is not valid",
    }


def test_null_is_not_given_and_blanks_around_are_not_kept(api):
    api.put("/v4/account", {"first_name": "  Kari ", "city": "Bergen"})
    changed = api.put("/v4/account", {"first_name": None, "city": None}).json()
    assert (changed["first_name"], changed["city"]) == ("Kari", "Bergen")


def test_managed_is_enabled_once(api, account):
    assert api.post("/v4/account/settings/managed-enable").json() == {}
    assert api.get("/v4/account/settings").json()["managed"] is True
    assert api.post("/v4/account/settings/managed-enable").json() == {}
    assert Event.objects.get().action == "managed_enabled"
    assert Account.objects.get(pk=account.pk).managed


def test_restricted_users_need_account_access(client_for, restricted):
    theirs = client_for(restricted)
    assert theirs.get("/v4/account").status_code == 200
    assert theirs.put("/v4/account", {"city": "Oslo"}).status_code == 403
    GlobalGrants.objects.update(account_access=None)
    assert theirs.get("/v4/account/settings").status_code == 403
