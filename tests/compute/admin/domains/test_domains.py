"""Domains in the admin."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event
from compute.models import Domain
from tests.config.admin.pages import list_address, page_address
from tests.factories import DomainFactory, RecordFactory

pytestmark = pytest.mark.django_db


def press(admin, domain: Domain, verb: str) -> None:
    address = page_address(domain).replace("/change/", f"/do/{verb}/")
    assert admin.post(address, {"confirmed": "yes"}).status_code == 302


@pytest.fixture
def domain(account) -> Domain:
    made = DomainFactory(account=account, label="example.com", tags=["web"], axfr_ips=["192.0.2.1"])
    RecordFactory(domain=made, name="www", target="203.0.113.7")
    return made


def test_the_page_shows_the_zone_as_name_servers_have_it(admin, domain):
    page = admin.get(page_address(domain)).content.decode()
    for words in ("www IN A 203.0.113.7", "dns@example.com", "192.0.2.1", "web"):
        assert words in page


def test_domains_are_found_by_how_their_names_begin(admin, domain):
    DomainFactory(label="another.example")
    page = admin.get(list_address(Domain), {"q": "exam"}).content.decode()
    assert "example.com" in page
    assert "another.example" not in page


def test_staff_disable_enable_and_delete_with_events(admin, domain, staff):
    press(admin, domain, "disable")
    domain.refresh_from_db()
    assert domain.status == "disabled"
    press(admin, domain, "enable")
    press(admin, domain, "delete")
    assert not Domain.objects.exists()
    events = Event.objects.order_by("pk").values_list("action", "username")
    assert list(events) == [("dns_zone_update", staff.username)] * 2 + [("dns_zone_delete", staff.username)]


def test_the_list_costs_the_same_however_long(admin, domain):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert admin.get(list_address(Domain)).status_code == 200
        return len(queries)

    cost()
    few = cost()
    for _ in range(5):
        RecordFactory()
    assert cost() == few
