"""Creating domains on pages: masters, slaves and imports."""

import dns.message
import dns.name
import dns.rrset
import pytest
from django.urls import get_resolver

from accounts.models import Event, GlobalGrants
from compute.models import Domain
from compute.services.domains import zone_import
from config.limits import rates
from config.server.lanes import Routes
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import text_of
from tests.factories import DomainFactory

pytestmark = pytest.mark.django_db

NEW, SLAVE, IMPORT = "/home/domains/new", "/home/domains/new/slave", "/home/domains/import"


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def test_a_master_is_created(browser, owner):
    assert f'value="{owner.email}"' in text_of(browser.get(NEW))
    given = {"domain": "Example.com", "soa_email": "dns@example.com", "tags": "web, blue"}
    answer = browser.post(NEW, given, follow=True)
    made = Domain.objects.get()
    assert (made.label, made.type, made.soa_email, sorted(made.tags)) == (
        "example.com", "master", "dns@example.com", ["blue", "web"],
    )  # fmt: skip
    assert "The domain example.com was created." in text_of(answer)
    assert "This domain has no records yet." in text_of(answer)
    assert list(Event.objects.values_list("action", flat=True)) == ["dns_zone_create"]


def test_a_slave_is_created(browser):
    answer = browser.post(SLAVE, {"domain": "example.com", "master_ips": "203.0.113.1, 2001:db8::1"}, follow=True)
    made = Domain.objects.get()
    assert (made.type, made.master_ips) == ("slave", ["203.0.113.1", "2001:db8::1"])
    assert "The records of a slave are on its masters." in text_of(answer)


@pytest.mark.parametrize(
    ("page", "given", "field", "reason"),
    [
        (NEW, {"soa_email": "dns@example.com"}, "domain", "Domain is required"),
        (NEW, {"domain": "example", "soa_email": "a@example.com"}, "domain", "at least two labels"),
        (NEW, {"domain": "taken.example", "soa_email": "a@example.com"}, "domain", "in use already"),
        (NEW, {"domain": "a.example"}, "soa_email", '"Email of the administrator" is required'),
        (NEW, {"domain": "a.example", "soa_email": "nobody"}, "soa_email", "valid"),
        (NEW, {"domain": "a.example", "soa_email": "a@example.com", "tags": "xy"}, "tags", ""),
        (SLAVE, {"domain": "a.example"}, "master_ips", "at least one master"),
        (SLAVE, {"domain": "a.example", "master_ips": "203.0.113.1, x"}, "master_ips", "not valid"),
        (IMPORT, {"domain": "a.example"}, "remote_nameserver", "required"),
        (IMPORT, {"domain": "a", "remote_nameserver": "a b"}, "remote_nameserver", "not valid"),
        (IMPORT, {"domain": "a.example", "remote_nameserver": "10.0.0.1"}, "remote_nameserver", "does not ask"),
    ],
)
def test_reasons_stand_at_their_fields(browser, page, given, field, reason):
    DomainFactory(label="taken.example")
    answer = browser.post(page, given)
    assert problems(answer, field)
    assert reason in problems(answer, field)
    assert Domain.objects.count() == 1


def zone(*records: tuple[str, str, str]) -> list:
    """Return the messages of a transfer of example.com: its SOA and NS records and `records`."""
    origin = dns.name.from_text("example.com")
    soa = ("@", "SOA", "ns.example.net. dns.example.com. 1 7200 3600 604800 300")
    message = dns.message.make_response(dns.message.make_query(origin, "AXFR"))
    for name, kind, data in (soa, ("@", "NS", "ns.example.net."), *records):
        message.answer.append(dns.rrset.from_text(dns.name.from_text(name, origin), 300, "IN", kind, data))
    return [message]


def test_an_import_shows_skipped_records(browser, monkeypatch):
    messages = zone(("www", "A", "203.0.113.7"), ("host", "HINFO", "a b"))
    monkeypatch.setattr(zone_import, "_transfer", lambda name, place: zone_import.read(name, messages))
    given = {"domain": "example.com", "remote_nameserver": "203.0.113.53"}
    assert "NS records of the domain itself are not copied" in text_of(browser.get(IMPORT))
    answer = browser.post(IMPORT, given, follow=True)
    made = Domain.objects.get()
    assert list(made.records.values_list("name", "target")) == [("www", "203.0.113.7")]
    left_out = "1 record was imported. 1 was left out: host HINFO."
    assert left_out in text_of(answer)
    assert left_out in text_of(browser.get(f"/home/domains/{made.pk}/activity"))


def test_an_import_runs_in_the_lane_of_imports():
    routes = Routes(get_resolver())
    assert routes.lane_of("POST", IMPORT, filtered=False) == "imports"
    assert routes.lane_of("GET", IMPORT, filtered=False) == "pages"
    assert routes.lane_of("POST", "/home/domains/7/clone", filtered=False) == "slow"
    assert routes.lane_of("GET", "/home/domains/7/zone-file/download", filtered=False) == "slow"


def test_many_imports_are_refused_until_later(browser, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "domain_import": "0/60"}
    rates.forget()
    answer = browser.post(IMPORT, {"domain": "example.com", "remote_nameserver": "203.0.113.53"})
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) <= 60
    assert "Too many" in answer.content.decode()


@pytest.mark.parametrize("page", [NEW, SLAVE, IMPORT])
def test_restricted_users_need_the_grant_and_have_no_tags(restricted, page):
    browser = signed_in(restricted)
    assert browser.get(page).status_code == 403
    GlobalGrants.objects.filter(user=restricted).update(add_domains=True)
    assert 'name="tags"' not in text_of(browser.get(page))


def test_a_restricted_user_may_change_the_new_domain(restricted):
    GlobalGrants.objects.filter(user=restricted).update(add_domains=True)
    given = {"domain": "example.com", "soa_email": "dns@example.com", "tags": "sneaked"}
    answer = signed_in(restricted).post(NEW, given, follow=True)
    assert "Add record" in text_of(answer)
    assert Domain.objects.get().tags == []
