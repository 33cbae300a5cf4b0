"""Pages that update themselves: permissions that change, and the work of a request that finds no change."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Grant, Level
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.compute.pages.visiting import HTMX
from tests.factories import (
    EventFactory,
    FirewallFactory,
    GrantFactory,
    ImageFactory,
    NodeBalancerFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db

KINDS = {"volume": VolumeFactory, "nodebalancer": NodeBalancerFactory, "firewall": FirewallFactory}


def granted(kind: str, user) -> str:
    """Let the user change a new object. Return its id in addresses."""
    if kind == "image":
        made = ImageFactory(id="private/7", number=7, account=user.account, is_public=False)
        key = made.number
    else:
        made = KINDS[kind](account=user.account)
        key = made.pk
    GrantFactory(user=user, entity_type=kind, entity_id=key, permissions=Level.READ_WRITE)
    return str(made.pk)


@pytest.mark.parametrize(
    ("kind", "page", "button"),
    [
        ("volume", "/home/volumes/{}", "/edit"),
        ("volume", "/home/volumes", "/edit"),
        ("image", "/home/images/{}", "/edit"),
        ("image", "/home/images", "/edit"),
        ("nodebalancer", "/home/load-balancers/{}", None),
        ("firewall", "/home/firewalls/{}", "/devices/add"),
    ],
)
def test_an_open_page_changes_with_the_permission(restricted, kind, page, button):
    address = page.format(granted(kind, restricted))
    browser = signed_in(restricted)
    shown = browser.get(address)
    polled = {"seen": shown.context["seen"]}
    assert browser.get(address, polled, headers=HTMX).status_code == 204
    assert button is None or button in text(shown)
    Grant.objects.filter(user=restricted).update(permissions=Level.READ_ONLY)
    part = browser.get(address, polled, headers=HTMX)
    assert part.status_code == 200
    assert button is None or button not in text(part)
    assert browser.get(address, {"seen": part.context["seen"]}, headers=HTMX).status_code == 204


@pytest.mark.parametrize("page", ["/home/volumes", "/home/events"])
def test_a_request_that_finds_no_change_reads_neither_filters_nor_links(owner, page):
    volume = VolumeFactory(account=owner.account)
    EventFactory(account=owner.account, entity_type="volume", entity_id=volume.pk, entity_label=volume.label)
    browser = signed_in(owner)
    whole = count_of(browser, page, {})
    seen = browser.get(page).context["seen"]
    assert count_of(browser, page, {"seen": seen}) < whole


def count_of(browser, page: str, query: dict[str, str]) -> int:
    """Return the number of queries of a request. It has to find no change if the query has a version."""
    with CaptureQueriesContext(connection) as queries:
        answer = browser.get(page, query, headers=HTMX if query else {})
    assert answer.status_code == (204 if query else 200)
    assert not query or "DISTINCT" not in "".join(each["sql"] for each in queries)
    return len(queries)
