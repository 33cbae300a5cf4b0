"""Events of managed are for unrestricted users alone, whatever else an event names."""

import pytest

from accounts.actors import Actor
from accounts.models import Event, GlobalGrants
from compute.models import Instance
from managed.models import KeyPair
from managed.services import credentials, keys
from tests.client import APIClient
from tests.factories import CredentialFactory, GrantFactory, InstanceFactory

EVENTS = "/v4/account/events"
WHY = "A disk is full, says the owner."


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account)


@pytest.fixture
def everything_granted(client_for, restricted, instance) -> APIClient:
    """The client of a restricted user with every possible grant."""
    names = dict.fromkeys(GlobalGrants.names(), True)
    GlobalGrants.objects.filter(user=restricted).update(account_access="read_write", **names)
    GrantFactory(user=restricted, entity_id=instance.pk, permissions="read_write")
    return client_for(restricted)


@pytest.fixture
def watched(api, account, instance) -> set[int]:
    """Create events of changes to one of each managed thing, and of a decryption of each secret. Returns their
    ids."""
    support = Actor(account.pk, username="support", is_staff=True)
    contact = api.post("/v4/managed/contacts", {"name": "On call", "email": "call@example.com"}).json()
    api.put(f"/v4/managed/contacts/{contact['id']}", {"name": "Off call"})
    credentials.decrypt(support, CredentialFactory(account=account), WHY)
    api.get("/v4/managed/credentials/sshkey")
    keys.decrypt(support, KeyPair.objects.get(), WHY)
    service = {"service_type": "tcp", "label": "database", "address": "203.0.113.7:5432", "timeout": 10}
    made = api.post("/v4/managed/services", service).json()
    api.delete(f"/v4/managed/services/{made['id']}")
    api.put(f"/v4/managed/compute-settings/{instance.pk}", {"ssh": {"port": 2222}})
    return set(Event.objects.values_list("pk", flat=True))


def test_restricted_users_read_nothing_of_them(api, everything_granted, watched):
    assert {each["id"] for each in api.get(EVENTS).json()["data"]} == watched
    assert WHY in str(api.get(EVENTS).json())
    assert everything_granted.get(EVENTS).json()["results"] == 0


def test_restricted_users_mark_none_of_them(everything_granted, watched):
    for key in watched:
        assert everything_granted.get(f"{EVENTS}/{key}").status_code == 404
        for mark in ("seen", "read"):
            assert everything_granted.post(f"{EVENTS}/{key}/{mark}").status_code == 404


def test_restricted_users_mark_none_of_them_along_with_later_ones(api, everything_granted, watched, instance):
    api.put(f"/v4/compute/instances/{instance.pk}", {"label": "renamed"})
    (later,) = everything_granted.get(EVENTS).json()["data"]
    assert everything_granted.post(f"{EVENTS}/{later['id']}/seen").status_code == 200
    assert set(Event.objects.filter(seen=True).values_list("pk", flat=True)) == {later["id"]}
