"""Trust levels and quotas of what costs money, on the page of an account and in the list."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from accounts.display.quotas import QUOTA_LABELS
from accounts.models import Account, Event, ResourceUse, TrustLevel
from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import EXTRA_IPV4, limits_for
from tests.config.admin.pages import do, list_address, page_address
from tests.factories import AccountFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(world) -> Account:
    world.account.trust_level = "new"
    world.account.save()
    ResourceUse.objects.update_or_create(account=world.account, defaults={"instances": 10, "memory": 6 * 1024})
    return world.account


def resources(admin, account) -> list[str]:
    """Return the words of each row of the panel."""
    panels = {panel.title: panel for panel in admin.get(page_address(account)).context["panels"]}
    return [" ".join(re.sub(r"<[^>]+>", " ", " ".join(row.cells)).split()) for row in panels["Resources"].rows]


def found(admin, **filters) -> list[Account]:
    return list(admin.get(list_address(Account), filters).context["cl"].result_list)


def test_every_quota_of_resources_has_a_label():
    assert QUOTA_LABELS.keys() == {*RESOURCE_QUOTAS, EXTRA_IPV4}


def test_the_page_shows_use_limits_and_their_sources(admin, account):
    rows = resources(admin, account)
    assert "Memory of instances 6 GB of 40 GB 34 GB left level new" in rows
    assert "Storage of volumes 0 GB of 1,000 GB 1,000 GB left level new" in rows
    assert "Instances 10 of 10 used up level new" in rows
    TrustLevel.objects.create(id="new", label="New customer", limits={"instances": 20})
    rows = resources(admin, account)
    assert "Instances 10 of 20 10 left level new" in rows
    assert "GPUs 0 no limit level new" in rows


def test_the_trust_level_is_changed_with_a_reason_that_is_logged_and_read(admin, account):
    TrustLevel.objects.create(id="gold", label="Gold customers", limits={"instances": 40})
    assert "Gold customers (gold)" in admin.post(page_address(account).replace("/change/", "/do/trust-level/")).text
    assert "required" in do(admin, account, "trust-level", level="gold").text
    do(admin, account, "trust-level", level="gold", reason="Paid for a year")
    assert limits_for(account.pk) == {"instances": 40}
    event = Event.objects.get()
    assert (event.username, event.message) == ("staff", "The trust level is gold: Paid for a year")
    assert LogEntry.objects.get().change_message == "Change trust level: new -> gold. Paid for a year"
    assert "is gold already" in do(admin, account, "trust-level", level="gold", reason="x").text


def test_one_quota_is_raised_and_the_form_of_the_page_keeps_it(admin, account):
    do(admin, account, "quota", quota="memory", to="number", limit="64", reason="Ticket 7")
    do(admin, account, "quota", quota="gpus", to="none", reason="Ticket 7")
    do(admin, account, "quota", quota="extra_ipv4", to="number", limit="4", reason="Ticket 7")
    limits = limits_for(account.pk)
    assert (limits["memory"], limits["gpus"], limits["instances"]) == (64 * 1024, None, 10)
    form = admin.get(page_address(account)).context["adminform"].form
    assert admin.post(page_address(account), {**form.initial, "quota_domains": "7"}).status_code == 302
    account.refresh_from_db()
    assert account.quotas == {"memory": 64 * 1024, "gpus": None, "domains": 7}
    assert account.extra_ipv4 == 4
    rows = resources(admin, account)
    assert "Memory of instances 6 GB of 64 GB 58 GB left the account&#x27;s own" in rows
    assert "GPUs 0 no limit the account&#x27;s own" in rows
    do(admin, account, "quota", quota="memory", to="default", reason="No longer needed")
    assert limits_for(account.pk)["memory"] == 40 * 1024
    messages = LogEntry.objects.order_by("pk").values_list("change_message", flat=True)
    assert messages[0] == "Change a quota: Memory of instances: 64 GB. Ticket 7"
    assert Event.objects.order_by("pk")[0].message == "The quota of memory of computes is 65536 MB: Ticket 7"


@pytest.mark.parametrize(
    "given",
    [
        {"to": "number"},
        {"to": "none", "limit": "3"},
        {"to": "number", "limit": "-1"},
        {"to": "number", "limit": "9" * 12},
        {"to": "none", "quota": "extra_ipv4"},
        {"to": "number", "limit": "3", "quota": "cores"},
        {"to": "number", "limit": "3", "reason": ""},
    ],
)
def test_an_impossible_limit_is_refused_in_the_form(admin, account, given):
    response = do(admin, account, "quota", **{"quota": "gpus", "reason": "x", **given})
    assert response.context["form"].errors
    account.refresh_from_db()
    assert account.quotas == {}
    assert not Event.objects.exists()


def test_accounts_are_filtered_by_level_and_by_counters_that_differ(admin, account):
    trusted = AccountFactory(trust_level="trusted")
    AccountFactory(trust_level="trusted")
    ResourceUse.objects.create(account=trusted, difference={"memory": [0, 2048], "intervals": 1})
    assert found(admin, level="new") == [account]
    assert len(found(admin, level="trusted")) == 2
    assert found(admin, counters="differ") == [trusted]
    page = admin.get(page_address(trusted))
    assert "counters differ" in page.text
    assert page.context["panels"][0].title == "Counters that differ from the resources"
    assert [row.cells for row in page.context["panels"][0].rows] == [
        ("Memory of instances", "0 GB", "2 GB"), ("Resources that are metered incorrectly", 1, 0),
    ]  # fmt: skip
    assert "counters differ" not in admin.get(page_address(account)).text


def test_accounts_whose_counters_differ_need_attention(admin, account):
    assert "counters differ from their resources" not in admin.get(reverse("admin:index")).text
    ResourceUse.objects.update_or_create(account=account, defaults={"difference": {"volumes": [4, 3]}})
    page = admin.get(reverse("admin:index")).text
    assert "Accounts whose counters differ from their resources: 1" in page
    assert f"{reverse('admin:accounts_account_changelist')}?counters=differ" in page
