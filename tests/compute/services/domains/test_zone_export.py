"""Exported zones, served by a real Knot DNS and queried as by any client."""

import ipaddress
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.zone
import pytest
from django.core.management import CommandError, call_command

from accounts.models import Event
from compute.models import Domain, DomainRecord
from compute.services.domains import records as domain_records
from compute.services.domains.zone_export import export
from tests.compute.services.domains.knot import TIMEOUT_SECONDS, Knot, running
from tests.factories import DomainFactory, RecordFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.guest]


@pytest.fixture
def primary(tmp_path) -> Iterator[Knot]:
    """A second name server, at port 53, which slaves ask. It has an address of its own, because tests run in
    parallel."""
    home = tmp_path / "primary"
    home.mkdir()
    address = f"127.{os.getpid() >> 16 & 63 | 64}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 53))
        except PermissionError:
            pytest.skip("needs root, or sysctl net.ipv4.ip_unprivileged_port_start=53")
    yield from running(home, address, 53)


@pytest.fixture
def reachable(settings) -> None:
    """Allow the platform to ask name servers on this machine."""
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.0/8")]


def zone(account, **values) -> Domain:
    """Create a domain with a record of each type."""
    domain = DomainFactory(account=account, label="example.com", **values)
    add = {
        "A": ("www", "203.0.113.7"), "AAAA": ("www", "2001:db8::7"), "NS": ("sub", "ns.example.net"),
        "CNAME": ("blog", "www.example.com"), "TXT": ("text", 'a "quoted" \\ ; text, ' + "ü" * 200),
        "PTR": ("7", "host.example.net"), "MX": ("", "mail.example.net"),
    }  # fmt: skip
    for kind, (name, target) in add.items():
        RecordFactory(domain=domain, type=kind, name=name, target=target, priority=10 if kind == "MX" else 0)
    RecordFactory(domain=domain, name="*.dev", ttl_sec=300)
    RecordFactory(domain=domain, type="CAA", name="", tag="issue", target="letsencrypt.org")
    RecordFactory(
        domain=domain, type="SRV", name="_sip._tcp", service="_sip", protocol="_tcp", target="sip.example.net",
        priority=1, weight=2, port=5060,
    )  # fmt: skip
    return domain


def test_every_type_is_answered_as_it_was_written(knot, account):
    zone(account, refresh_sec=3600)
    knot.export()
    assert knot.answers("www.example.com", "A") == ["203.0.113.7"]
    assert knot.answers("www.example.com", "AAAA") == ["2001:db8::7"]
    assert knot.answers("blog.example.com", "A") == ["203.0.113.7", "www.example.com."]
    assert knot.answers("7.example.com", "PTR") == ["host.example.net."]
    assert knot.answers("example.com", "MX") == ["10 mail.example.net."]
    assert knot.answers("_sip._tcp.example.com", "SRV") == ["1 2 5060 sip.example.net."]
    assert knot.answers("example.com", "CAA") == ['0 issue "letsencrypt.org"']
    assert knot.answers("example.com", "NS") == ["ns1.skerry.example.", "ns2.skerry.example."]
    wildcard = knot.ask("anything.dev.example.com", "A").answer[0]
    assert (wildcard[0].to_text(), wildcard.ttl) == ("203.0.113.7", 300)
    text = knot.ask("text.example.com", "TXT").answer[0][0]
    assert b"".join(text.strings).decode() == DomainRecord.objects.get(type="TXT").target
    soa = knot.ask("example.com", "SOA").answer[0][0]
    assert (soa.mname.to_text(), soa.rname.to_text(), soa.refresh) == (
        "ns1.skerry.example.",
        "dns.example.com.",
        3600,
    )
    assert knot.ask("sub.example.com", "A").authority[0][0].to_text() == "ns.example.net."


def test_changes_are_served_with_a_later_serial(knot, account, client_for, owner):
    domain = zone(account)
    knot.export()
    before = knot.serial("example.com")
    api = client_for(owner)
    api.post(f"/v4/domains/{domain.pk}/records", {"type": "A", "name": "new", "target": "203.0.113.9"})
    knot.export()
    assert knot.answers("new.example.com", "A") == ["203.0.113.9"]
    assert knot.serial("example.com") > before
    api.put(f"/v4/domains/{domain.pk}", {"status": "disabled"})
    knot.export()
    assert knot.ask("www.example.com", "A").rcode() == dns.rcode.REFUSED
    api.put(f"/v4/domains/{domain.pk}", {"status": "active"})
    knot.export()
    assert knot.answers("new.example.com", "A") == ["203.0.113.9"]
    api.delete(f"/v4/domains/{domain.pk}")
    knot.export()
    assert knot.ask("www.example.com", "A").rcode() == dns.rcode.REFUSED
    assert not list((knot.exported / "zones").iterdir())


def test_a_zone_is_transferred_to_the_chosen_addresses(knot, account):
    domain = zone(account)
    knot.export()

    def transfer() -> dns.zone.Zone:
        found = dns.query.xfr("127.0.0.1", "example.com", port=knot.port, lifetime=TIMEOUT_SECONDS)
        return dns.zone.from_xfr(found)

    with pytest.raises(dns.exception.DNSException):
        transfer()
    Domain.objects.filter(pk=domain.pk).update(axfr_ips=["192.0.2.1", "127.0.0.1"], serial=domain.serial + 1)
    knot.export()
    assert len(transfer().nodes) == 8


def test_a_slave_is_in_the_list_with_its_masters(knot, account):
    """The server accepts the configuration, and has no zone until it reaches a master."""
    DomainFactory(
        account=account, label="slave.example", type="slave", soa_email="", master_ips=["192.0.2.1", "2001:db8::1"]
    )
    knot.export()
    until(lambda: knot.ask("slave.example", "SOA").rcode() == dns.rcode.SERVFAIL, "the zone is not in the list")


def until(condition: Callable[[], bool], words: str) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, words


def test_a_slave_is_transferred_from_its_master_and_follows_it(
    primary, knot, account, client_for, owner, reachable
):
    """Both name servers serve exported zones. The platform's own tables have the name at only one time."""
    source = zone(account, axfr_ips=["127.0.0.1", primary.address])
    primary.export()
    records = primary.exported / "zones" / f"{source.pk}.zone"
    source.delete()
    wish = {"domain": "example.com", "type": "slave", "master_ips": ["127.255.0.1", primary.address]}
    made = client_for(owner).post("/v4/domains", wish).json()
    knot.export()
    until(lambda: knot.serial("example.com") == primary.serial("example.com"), "the zone is not transferred")
    for name, kind in (("www", "AAAA"), ("text", "TXT"), ("_sip._tcp", "SRV"), ("any.dev", "A")):
        assert knot.answers(f"{name}.example.com", kind) == primary.answers(f"{name}.example.com", kind) != []

    serial = primary.serial("example.com")
    later = records.read_text().replace(f" {serial} ", f" {serial + 1} ").replace("203.0.113.7", "203.0.113.8")
    records.write_text(later)
    subprocess.run(primary.reload.split(), check=True, capture_output=True)
    until(lambda: primary.serial("example.com") == serial + 1, "the master has not loaded")
    subprocess.run(knot.control("zone-refresh", "example.com").split(), check=True, capture_output=True)
    until(lambda: knot.answers("www.example.com", "A") == ["203.0.113.8"], "the slave does not follow")

    primary.stop()
    knot.stop()
    knot.start()
    assert knot.answers("www.example.com", "A") == ["203.0.113.8"], "what was transferred outlives a restart"
    client_for(owner).delete(f"/v4/domains/{made['id']}")
    knot.export()
    until(lambda: knot.ask("example.com", "SOA").rcode() == dns.rcode.REFUSED, "the zone is served on")
    assert not list((knot.exported / "zones").iterdir())


def test_a_slave_has_nothing_of_a_master_of_its_name(primary, knot, account, stranger, client_for, reachable):
    """Between two exports a name changes hands. The new master's serial is lower."""
    source = zone(account, axfr_ips=["127.0.0.1", primary.address], serial=5)
    primary.export()
    source.delete()
    knot.export()
    theirs = DomainFactory(account=account, label="example.com", serial=2_000_000_000)
    knot.export()
    theirs.delete()
    api = client_for(stranger)
    wish = {"domain": "example.com", "type": "slave", "master_ips": [primary.address]}
    mine = api.post("/v4/domains", wish).json()
    knot.export()
    until(lambda: knot.serial("example.com") == 5, "the zone is not transferred")
    api.put(f"/v4/domains/{mine['id']}", {"type": "master", "soa_email": "dns@example.com"})
    knot.export()
    assert knot.ask("www.example.com", "A").rcode() == dns.rcode.NXDOMAIN


def test_a_zone_that_is_refused_stops_no_other(knot, account):
    zone(account)
    broken = DomainFactory(account=account, label="broken.example")
    RecordFactory(domain=broken, name="www")
    Domain.objects.filter(pk=broken.pk).update(soa_email="(", serial=7)
    call_command("export_zones", str(knot.exported), reload=knot.reload)
    until(lambda: knot.serial("example.com") is not None, "the other zone is not served")
    assert knot.ask("www.broken.example", "A").rcode() == dns.rcode.SERVFAIL


def test_a_zone_with_a_new_name_or_type_is_left_out_of_one_export(tmp_path, account):
    slave = DomainFactory(account=account, label="a.example", type="slave", soa_email="", master_ips=["192.0.2.1"])
    master = DomainFactory(account=account, label="b.example")
    assert export(tmp_path).turned == 0
    copy = tmp_path / "zones" / f"{slave.pk}.slave"
    listing = tmp_path / "zones.conf"
    for changes in ({"label": "c.example"}, {"type": "master", "soa_email": "dns@example.com"}):
        copy.touch()
        Domain.objects.filter(pk=slave.pk).update(**changes)
        done = export(tmp_path)
        assert (done.turned, done.removed, done.listed) == (1, 1, True)
        assert not copy.exists()
        assert f'"{master.label}."' in listing.read_text()
        assert '"c.example."' not in listing.read_text()
        assert export(tmp_path).turned == 0
        assert '"c.example."' in listing.read_text()
    assert not export(tmp_path)


def test_other_name_servers_of_the_platforms_are_written_into_all_zones(tmp_path, account, settings):
    domain = zone(account)
    export(tmp_path)
    settings.DNS_NAMESERVERS = ["ns.other.example"]
    assert export(tmp_path).written == 1
    assert "NS ns.other.example." in (tmp_path / "zones" / f"{domain.pk}.zone").read_text()
    assert not export(tmp_path)


def test_only_changed_zones_are_written(tmp_path, account):
    first, second = zone(account), DomainFactory(account=account)
    done = export(tmp_path)
    assert (done.written, done.removed, done.listed) == (2, 0, True)
    assert not export(tmp_path)
    domain_records.touch(second)
    done = export(tmp_path)
    assert (done.written, done.removed, done.listed) == (1, 0, False)
    (tmp_path / "manifest.json").write_text("half of")
    assert export(tmp_path).written == 2
    account.is_active = False
    account.save()
    assert export(tmp_path).removed == 2
    assert first.label not in (tmp_path / "zones.conf").read_text()


def test_many_zones_cost_a_fixed_number_of_queries(tmp_path, account, django_assert_max_num_queries):
    for _ in range(20):
        RecordFactory(domain__account=account)
    with django_assert_max_num_queries(5):
        assert export(tmp_path).written == 20


def test_a_name_server_that_refuses_the_export_is_reported(tmp_path, account):
    zone(account)
    for _ in range(2):  # again by the next run, which has nothing to write
        with pytest.raises(CommandError, match="false failed"):
            call_command("export_zones", str(tmp_path), reload="false")


def test_masters_that_are_not_asked_are_left_out(account, tmp_path):
    DomainFactory(account=account, label="some.example", type="slave", master_ips=["10.0.0.1", "192.0.2.1"])
    DomainFactory(account=account, label="none.example", type="slave", master_ips=["10.0.0.1"])
    export(tmp_path)
    configuration = (tmp_path / "zones.conf").read_text()
    assert "some.example." in configuration
    assert "192.0.2.1" in configuration
    assert "10.0.0.1" not in configuration
    assert "none.example" not in configuration


def test_a_zone_is_served_in_lower_case(account, tmp_path):
    domain = DomainFactory(account=account, label="mixed.example", spelling="Mixed.Example")
    export(tmp_path)
    assert "$ORIGIN mixed.example." in (tmp_path / "zones" / f"{domain.pk}.zone").read_text()
    assert 'domain: "mixed.example."' in (tmp_path / "zones.conf").read_text()


# --- import -------------------------------------------------------------------------------------------------

IMPORT = "/v4/domains/import"


def test_a_zone_is_imported_whole(knot, account, client_for, owner, reachable):
    source = zone(account, axfr_ips=["127.0.0.1"], retry_sec=7200, ttl_sec=3600)
    knot.export()
    knot_has = set(source.records.values_list("type", "name", "target", "priority", "port", "tag"))
    source.delete()
    wish = {"domain": "Example.com", "remote_nameserver": f"127.0.0.1:{knot.port}"}
    made = client_for(owner).post(IMPORT, wish).json()
    assert (made["domain"], made["type"], made["soa_email"]) == ("Example.com", "master", "dns@example.com")
    assert (made["retry_sec"], made["ttl_sec"]) == (7200, 3600)
    domain = Domain.objects.get(pk=made["id"])
    assert set(domain.records.values_list("type", "name", "target", "priority", "port", "tag")) == knot_has
    assert domain.records.get(name="*.dev").ttl_sec == 300
    actions = list(Event.objects.order_by("pk").values_list("action", "message"))
    assert actions[-1] == ("dns_zone_import", "10 records were imported.")


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"domain": "other.example"}, "remote_nameserver"),
        ({"domain": "bad name"}, "domain"),
        ({"remote_nameserver": "nowhere.example.com"}, "remote_nameserver"),
        ({"remote_nameserver": "127.0.0.1:0"}, "remote_nameserver"),
        ({"remote_nameserver": "127.0.0.1:x"}, "remote_nameserver"),
        ({"remote_nameserver": "127.0.0.1:1"}, "remote_nameserver"),
        ({"remote_nameserver": "169.254.169.254"}, "remote_nameserver"),
        ({"remote_nameserver": "[::1]:53"}, "remote_nameserver"),
        ({"remote_nameserver": "10.0.0.1"}, "remote_nameserver"),
    ],
    ids=str,
)
def test_a_zone_that_cannot_be_imported_is_refused_and_nothing_made(
    knot, client_for, owner, reachable, wish, field
):
    whole = {"domain": "example.com", "remote_nameserver": f"127.0.0.1:{knot.port}", **wish}
    answer = client_for(owner).post(IMPORT, whole)
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not Domain.objects.exists()
    assert not Event.objects.exists()


def test_this_machine_is_not_asked_unless_the_operator_says_so(knot, account, client_for, owner):
    zone(account, axfr_ips=["127.0.0.1"])
    knot.export()
    wish = {"domain": "example.com", "remote_nameserver": f"127.0.0.1:{knot.port}"}
    answer = client_for(owner).post(IMPORT, wish)
    assert answer.json()["errors"][0]["reason"] == "The platform does not ask this name server."
