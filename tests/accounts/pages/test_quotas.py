"""The page of quotas: limits and use in units of people, and who sees it."""

import re
from html import unescape

import pytest

from accounts.models import Account, GlobalGrants, ResourceUse
from accounts.quotas import NEW
from tests.accounts.pages.browsers import sign_in
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in

PAGE = "/home/quotas"
ENTRY = f'href="{PAGE}"'
pytestmark = pytest.mark.django_db


def use(account: Account, level: str = NEW, **own) -> None:
    Account.objects.filter(pk=account.pk).update(trust_level=level, extra_ipv4=2, quotas=own)
    ResourceUse.objects.create(
        account=account, instances=3, vcpus=6, memory=6144, volume_storage=30, backup_storage=512, extra_ipv4=1,
        total_nodebalancers=4,
    )  # fmt: skip


def test_limit_and_use_are_in_units_of_people(browser, account):
    use(account, instances=3, volume_storage=None)
    page = words(browser.get(PAGE))
    for shown in (
        "Instances 3 of 3 used up",
        "vCPUs 6 of 20 14 left",
        "Memory of instances 6 GB of 40 GB 34 GB left",
        "GPUs 0 of 0 not included",
        "Storage of volumes 30 GB no limit",
        "Storage of backups 512 MB of 1,000 GB 999.5 GB left",
        "Extra public IPv4 addresses 1 of 2 Addresses beyond the one that each instance includes. 1 left",
        "Load balancers 4 of 3 1 too much",
    ):
        assert shown in page


def test_an_account_that_has_used_nothing_sees_its_limits(browser, account):
    Account.objects.filter(pk=account.pk).update(trust_level=NEW)
    assert "Volumes 0 of 10 10 left" in words(browser.get(PAGE))


def test_the_page_says_how_to_ask_for_more(browser):
    link = re.search(r'href="(/home/tickets/new[^"]+)">Ask for more', browser.get(PAGE).content.decode())
    assert 'value="Higher quotas"' in browser.get(unescape(link[1])).content.decode()


@pytest.mark.parametrize(
    ("access", "status", "may_ask"), [(None, 403, False), ("read_only", 200, False), ("read_write", 200, True)]
)
def test_a_restricted_user_needs_access_to_the_account(restricted, access, status, may_ask):
    GlobalGrants.objects.filter(user=restricted).update(account_access=access)
    browser = sign_in("restricted", restricted)
    answer = browser.get(PAGE)
    assert answer.status_code == status
    assert ("/home/tickets/new" in answer.content.decode()) == may_ask
    assert (ENTRY in browser.get("/home").content.decode()) == (status == 200)


def test_staff_have_no_quotas(staff_browser):
    assert staff_browser.get(PAGE).status_code == 404


def test_the_frame_needs_one_query_of_grants(restricted, django_assert_num_queries):
    """The view and the navigation share the grants of the user."""
    browser = signed_in(restricted)
    with django_assert_num_queries(4):
        browser.get(PAGE)
