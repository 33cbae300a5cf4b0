"""The quotas of accounts, users and domains: one table, and one test of all of them."""

import re

import pytest
from django.conf import settings as configured
from django.db import transaction

from accounts.models import Account, Event
from accounts.quotas import LEVELS, NEW, QUOTAS, RESOURCE_QUOTAS, TRUSTED, UNLIMITED
from accounts.services import ssh_keys
from compute.services.networking.firewalls import firewalls
from compute.services.networking.firewalls.firewalls import FirewallSpec
from tags.models import Tag
from tags.services import set_tags
from tests.config.api.routes import routes
from tests.policy import KEY, body_of, operation_of, prepared, scene_of
from tests.racing import done, race
from tests.tours.pages import ROOT

ADDED_BY = {
    "users": ["POST /v4/account/users"],
    "tokens": ["POST /v4/profile/tokens"],
    "ssh_keys": ["POST /v4/profile/sshkeys"],
    "oauth_clients": ["POST /v4/account/oauth-clients"],
    "tickets": ["POST /v4/support/tickets"],
    "ticket_files": ["POST /v4/support/tickets/{id}/attachments"],
    "tags": ["POST /v4/tags"],
    "images": ["POST /v4/images", "POST /v4/images/upload"],
    "stackscripts": ["POST /v4/compute/stackscripts"],
    "firewalls": ["POST /v4/networking/firewalls"],
    "domains": ["POST /v4/domains", "POST /v4/domains/{id}/clone", "POST /v4/domains/import"],
    "records": ["POST /v4/domains/{domain_id}/records"],
    "nodebalancers": ["POST /v4/nodebalancers"],
    "ipv6_ranges": ["POST /v4/networking/ipv6/ranges"],
    "managed_services": ["POST /v4/managed/services"],
    "managed_contacts": ["POST /v4/managed/contacts"],
    "managed_credentials": ["POST /v4/managed/credentials"],
}
"""The operations that add one of each."""
ROUTES = {operation_of(route): route for route in routes()}
CASES = [(name, operation) for name, operations in ADDED_BY.items() for operation in operations]


def test_every_quota_is_tried():
    assert set(ADDED_BY) == set(QUOTAS)


@pytest.fixture
def scene(world):
    return scene_of(world)


@pytest.mark.django_db
def test_nobody_has_more_than_it_may_unless_staff_let_its_account(scene, settings):
    owner = next(caller for caller in scene.callers if caller.name == "owner")
    for name, operation in CASES:
        quota, route = QUOTAS[name], ROUTES[operation]
        usual = getattr(settings, quota.setting)
        with prepared(route, scene) as call:
            setattr(settings, quota.setting, 0)
            before = Event.objects.count()
            refused = call(owner, body_of(route, scene))
            expected = {"errors": [{"field": None, "reason": quota.reason(0)}]}
            assert (refused.status_code, refused.json()) == (400, expected), operation
            assert Event.objects.count() == before
            Account.objects.update(quotas={name: 1000})
            assert call(owner, body_of(route, scene)).status_code == 200, operation
            setattr(settings, quota.setting, usual)


@pytest.mark.django_db
def test_tags_that_come_into_being_with_an_object_are_counted(api, account, settings):
    settings.QUOTA_TAGS = 2
    body = {"domain": "example.com", "type": "master", "soa_email": "dns@example.com", "tags": ["one", "two"]}
    made = api.post("/v4/domains", body).json()
    path = f"/v4/domains/{made['id']}"
    refused = api.put(path, {"tags": ["two", "three"]})
    assert refused.json()["errors"] == [{"field": "tags", "reason": QUOTAS["tags"].reason(2)}]
    assert api.put(path, {"tags": ["two"]}).status_code == 200, "those that are there cost nothing"
    assert Tag.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_simultaneous_additions_stay_within_the_quota(world, settings):
    settings.QUOTA_TAGS = settings.QUOTA_FIREWALLS = settings.QUOTA_SSH_KEYS = 2

    def act(number: int):
        if number % 3 == 0:
            with transaction.atomic():
                return set_tags(world.account.pk, "compute", number + 1, [f"tag-{number}"])[0]
        if number % 3 == 1:
            spec = FirewallSpec(f"wall-{number}", {"inbound_policy": "DROP", "outbound_policy": "DROP"})
            return firewalls.create(world.actor, spec).label
        return ssh_keys.add(world.actor, KEY, f"key-{number}").label

    made = done(race(act))
    assert sorted(re.sub("-.*", "", label) for label in made) == ["key", "key", "tag", "tag", "wall", "wall"]


def test_the_page_has_the_limits_of_every_quota_of_resources():
    text = (ROOT / "docs" / "security.md").read_text()
    found = re.findall(r"^\| `([a-z0-9_]+)` \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    assert found == [(name, str(LEVELS[NEW][name]), str(LEVELS[TRUSTED][name])) for name in RESOURCE_QUOTAS]
    assert LEVELS[UNLIMITED] == {}


def test_the_page_has_every_quota():
    text = (ROOT / "docs" / "security.md").read_text()
    found = dict(re.findall(r"^\| `([A-Z0-9_]+)` \| (\d+) \|", text, re.MULTILINE))
    assert found == {quota.setting: str(getattr(configured, quota.setting)) for quota in QUOTAS.values()}
