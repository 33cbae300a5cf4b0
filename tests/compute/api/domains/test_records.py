"""Records: the rules of each type, and the types that may share a name."""

from typing import Any

import dns.zone
import pytest

from accounts.models import Event
from compute.models import Domain, DomainRecord
from compute.services.domains import domains
from compute.services.domains import records as domain_records
from tests.client import errors, wrong_fields
from tests.factories import DomainFactory, RecordFactory
from tests.racing import RACERS, done, race
from tests.world import World

pytestmark = pytest.mark.django_db
HOST = "web.example.net"


@pytest.fixture
def domain(account) -> Domain:
    return DomainFactory(account=account, label="example.com")


@pytest.fixture
def records(domain) -> str:
    """The path of the domain's records."""
    return f"/v4/domains/{domain.pk}/records"


@pytest.mark.parametrize(
    ("wish", "kept"),
    [
        ({"type": "A", "name": "www", "target": "203.0.113.7"}, {}),
        ({"type": "A", "name": "*", "target": "203.0.113.7"}, {}),
        ({"type": "A", "target": " 203.0.113.7 "}, {"name": "", "target": "203.0.113.7"}),
        ({"type": "A", "name": "WWW.example.com.", "target": "203.0.113.7"}, {"name": "www"}),
        ({"type": "A", "name": "example.com", "target": "203.0.113.7"}, {"name": ""}),
        ({"type": "AAAA", "name": "www", "target": "2001:DB8:0::1"}, {"target": "2001:db8::1"}),
        ({"type": "NS", "name": "sub", "target": "NS1.Example.net"}, {"target": "ns1.example.net"}),
        ({"type": "MX", "target": HOST, "priority": 10}, {"name": ""}),
        ({"type": "MX", "target": "."}, {"name": "", "target": ""}),
        ({"type": "MX", "name": "example.com", "target": "", "priority": 0}, {"name": ""}),
        ({"type": "CNAME", "name": "blog", "target": "_x.example.net"}, {}),
        ({"type": "TXT", "name": "_dmarc", "target": 'v=DMARC1; p="none"; ü'}, {}),
        ({"type": "TXT", "name": "spaces", "target": "  two before, one behind "}, {}),
        ({"type": "TXT", "name": "a-*.apps", "target": "heritage=dns"}, {}),
        ({"type": "TXT", "name": "*.apps", "target": "heritage=dns"}, {}),
        ({"type": "SRV", "service": "s" * 49, "protocol": "p" * 48, "target": HOST},
         {"name": f"_{'s' * 49}._{'p' * 48}"}),
        ({"type": "SRV", "service": "s" * 62, "target": HOST}, {"name": f"_{'s' * 62}._tcp"}),
        ({"type": "SRV", "service": "sip", "protocol": "TCP", "target": HOST, "port": 5060, "weight": 5},
         {"name": "_sip._tcp"}),
        ({"type": "SRV", "service": "_sip", "protocol": "_tcp", "target": HOST}, {"name": "_sip._tcp"}),
        ({"type": "SRV", "service": "_" + "s" * 62, "target": HOST}, {"name": f"_{'s' * 62}._tcp"}),
        ({"type": "SRV", "service": "minecraft", "protocol": "tcp", "name": "play", "target": HOST},
         {"name": "_minecraft._tcp.play"}),
        ({"type": "SRV", "service": "minecraft", "name": "Play.example.com.", "target": HOST},
         {"name": "_minecraft._tcp.play"}),
        ({"type": "SRV", "service": "ldap", "protocol": "tcp", "name": "_ldap._tcp.dc._msdcs", "target": HOST},
         {"name": "_ldap._tcp.dc._msdcs"}),
        ({"type": "SRV", "service": "ldap", "protocol": "tcp", "name": "_msdcs", "target": HOST},
         {"name": "_ldap._tcp._msdcs"}),
        ({"type": "SRV", "service": "ldap", "protocol": "tcp", "name": "_ldap", "target": HOST},
         {"name": "_ldap._tcp"}),
        ({"type": "PTR", "name": "7", "target": HOST}, {}),
        ({"type": "CAA", "tag": "issue", "target": "letsencrypt.org"}, {"name": ""}),
        ({"type": "CAA", "tag": "issue", "target": "ca.example.net; account=230123"}, {"name": ""}),
        ({"type": "CAA", "tag": "issuewild", "target": ";"}, {"name": ""}),
        ({"type": "CAA", "tag": "issuewild", "target": "*.letsencrypt.org"}, {"name": ""}),
        ({"type": "CAA", "tag": "issuewild", "target": "*.ca.example.net; account=230123"}, {"name": ""}),
        ({"type": "CAA", "tag": "issuewild", "target": "letsencrypt.org"}, {"name": ""}),
        ({"type": "CAA", "tag": "iodef", "target": "mailto:security@example.com"}, {"name": ""}),
        ({"type": "CAA", "tag": "iodef", "target": "https://sec.example.net/report"}, {"name": ""}),
        ({"type": "CAA", "tag": "iodef", "target": "sec.example.net"}, {"name": ""}),
        ({"type": "A", "name": "München", "target": "203.0.113.7"}, {"name": "xn--mnchen-3ya"}),
        ({"type": "TXT", "name": "_dmarc.mu\u0308nchen", "target": "x"}, {"name": "_dmarc.xn--mnchen-3ya"}),
        ({"type": "MX", "target": "mail.münchen.example"}, {"name": "", "target": "mail.xn--mnchen-3ya.example"}),
        ({"type": "CNAME", "name": "x", "target": "_x.münchen.example"}, {"target": "_x.xn--mnchen-3ya.example"}),
        ({"type": "SRV", "service": "sip", "protocol": "tcp", "target": "münchen"},
         {"name": "_sip._tcp", "target": "xn--mnchen-3ya.example.com"}),
        ({"type": "CAA", "tag": "issue", "target": "münchen.example; a=b"},
         {"name": "", "target": "xn--mnchen-3ya.example; a=b"}),
        ({"type": "CAA", "tag": "iodef", "target": "münchen.example"},
         {"name": "", "target": "xn--mnchen-3ya.example"}),
        ({"type": "A", "name": "www", "target": "203.0.113.7", "ttl_sec": 301}, {"ttl_sec": 3600}),
    ],
    ids=str,
)  # fmt: skip
def test_a_record_of_each_type_is_kept(api, records, domain, wish, kept):
    before = domain.serial
    made = api.post(records, wish).json()
    defaults = {
        "priority": 0, "weight": 0, "port": 0, "service": None, "protocol": None, "ttl_sec": 0, "tag": None,
    }  # fmt: skip
    whole = {**defaults, **wish, **kept}
    assert made == {"id": made["id"], **whole, "created": made["created"], "updated": made["updated"]}
    assert api.get(f"{records}/{made['id']}").json() == made
    assert api.get(records).json()["data"] == [made]
    read_zone(api, domain)
    domain.refresh_from_db()
    assert domain.serial > before
    event = Event.objects.get()
    assert (event.action, event.entity_id, event.secondary_id) == ("dns_record_create", domain.pk, str(made["id"]))


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"type": "SPF"}, "type"),
        ({"type": "A"}, "target"),
        ({"type": "A", "target": "2001:db8::1"}, "target"),
        ({"type": "A", "target": "web.example.net"}, "target"),
        ({"type": "A", "target": "010.0.0.1"}, "target"),
        ({"type": "AAAA", "target": "203.0.113.7"}, "target"),
        ({"type": "AAAA", "target": "fe80::1%eth0"}, "target"),
        ({"type": "A", "name": "a b", "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "a..b", "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "x" * 64, "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "x" * 101, "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "www\n@ IN NS evil", "target": "203.0.113.7"}, "name"),
        ({"type": "NS", "name": "sub", "target": "not a host"}, "target"),
        ({"type": "NS", "name": "sub", "target": ""}, "target"),
        ({"type": "NS", "name": "sub", "target": "203.0.113.7"}, "target"),
        ({"type": "A", "name": "\u212a", "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "ü" * 60, "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": ".".join(["ü" * 20] * 4), "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "ü_", "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "１２７", "target": "203.0.113.7"}, "name"),
        ({"type": "A", "name": "a-*.apps", "target": "203.0.113.7"}, "name"),
        ({"type": "TXT", "name": "-*.apps", "target": "x"}, "name"),
        ({"type": "NS", "name": "sub", "target": "ü。example"}, "target"),
        ({"type": "MX", "name": "quiet", "target": "."}, "name"),
        ({"type": "MX", "name": "quiet", "target": ""}, "name"),
        ({"type": "MX", "target": "", "priority": 10}, "priority"),
        ({"type": "MX", "target": HOST, "priority": 256}, "priority"),
        ({"type": "CNAME", "target": HOST}, "name"),
        ({"type": "CNAME", "name": "x", "target": "*.example.net"}, "target"),
        ({"type": "TXT", "target": ""}, "target"),
        ({"type": "TXT", "target": "x" * 4097}, "target"),
        ({"type": "TXT", "target": "a\nb"}, "target"),
        ({"type": "SRV", "protocol": "_tcp", "target": HOST}, "service"),
        ({"type": "SRV", "service": "_sip", "target": "a b"}, "target"),
        ({"type": "SRV", "service": "_sip"}, "target"),
        ({"type": "SRV", "service": "_si p", "protocol": "_tcp", "target": HOST}, "service"),
        ({"type": "SRV", "service": "_sip", "protocol": "_tcp", "target": HOST, "port": 65536}, "port"),
        ({"type": "SRV", "service": "_sip", "protocol": "_tcp", "target": HOST, "weight": -1}, "weight"),
        ({"type": "SRV", "service": "s" * 50, "protocol": "p" * 49, "target": HOST}, "service"),
        ({"type": "SRV", "service": "s" * 50, "protocol": "p" * 30, "name": "n" * 30, "target": HOST}, "name"),
        ({"type": "SRV", "service": "s" * 63, "target": HOST}, "service"),
        ({"type": "SRV", "service": "sip", "name": "*", "target": HOST}, "name"),
        ({"type": "PTR", "name": "7", "target": "203.0.113.7/24"}, "target"),
        ({"type": "PTR", "name": "7", "target": "203.0.113.7"}, "target"),
        ({"type": "CAA", "target": "letsencrypt.org"}, "tag"),
        ({"type": "CAA", "tag": "contact", "target": "letsencrypt.org"}, "tag"),
        ({"type": "CAA", "tag": "issue", "target": ""}, "target"),
        ({"type": "CAA", "tag": "issue", "target": "not a host"}, "target"),
        ({"type": "CAA", "tag": "issue", "target": 'x.org" evil'}, "target"),
        ({"type": "CAA", "tag": "issue", "target": "*.letsencrypt.org"}, "target"),
        ({"type": "CAA", "tag": "issuewild", "target": "*"}, "target"),
        ({"type": "CAA", "tag": "issuewild", "target": "*."}, "target"),
        ({"type": "CAA", "tag": "issuewild", "target": "a.*.letsencrypt.org"}, "target"),
        ({"type": "CAA", "tag": "iodef", "target": "*.example.net"}, "target"),
        ({"type": "CAA", "tag": "iodef", "target": "ftp://example.net"}, "target"),
        ({"type": "CAA", "tag": "iodef", "target": "not a host"}, "target"),
    ],
    ids=str,
)
def test_bad_input_names_the_field_and_changes_nothing(api, records, wish, field):
    assert field in wrong_fields(api.post(records, wish))
    assert not DomainRecord.objects.exists()
    assert not Event.objects.exists()


def test_beside_a_cname_stands_nothing(api, records):
    api.post(records, {"type": "A", "name": "www", "target": "203.0.113.7"})
    assert wrong_fields(api.post(records, {"type": "CNAME", "name": "www", "target": HOST})) == ["name"]
    blog = api.post(records, {"type": "CNAME", "name": "blog", "target": HOST}).json()
    assert wrong_fields(api.post(records, {"type": "TXT", "name": "blog.example.com", "target": "x"})) == ["name"]
    assert wrong_fields(api.put(f"{records}/{blog['id']}", {"name": "www"})) == ["name"]
    assert api.put(f"{records}/{blog['id']}", {"name": "news"}).json()["name"] == "news"


def zone_of(api: Any, domain: Domain) -> list[str]:
    return api.get(f"/v4/domains/{domain.pk}/zone-file").json()["zone_file"]


def read_zone(api: Any, domain: Domain) -> dns.zone.Zone:
    """Return the zone as a reader of zone files parses it."""
    return dns.zone.from_text("\n".join(zone_of(api, domain)), origin=domain.label, relativize=True)


SRV = {"type": "SRV", "service": "minecraft", "protocol": "tcp", "name": "play", "target": HOST, "port": 25565}


@pytest.mark.parametrize("wish", [SRV, {**SRV, "service": "_Minecraft", "protocol": None}], ids=str)
def test_a_service_that_is_put_back_is_no_change(api, records, wish):
    made = api.post(records, wish).json()
    assert (made["service"], made["protocol"]) == (wish["service"], wish["protocol"])
    assert made["name"] == "_minecraft._tcp.play"
    path = f"{records}/{made['id']}"
    for body in (made, {"name": made["name"]}, {"service": wish["service"]}, {"name": "play"}):
        assert api.put(path, body).json() == made
    assert [event.action for event in Event.objects.all()] == ["dns_record_create"]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"service": "Mumble"}, "_mumble._tcp.play"),
        ({"protocol": "udp"}, "_minecraft._udp.play"),
        ({"service": "mumble", "name": "_minecraft._tcp.play"}, "_mumble._tcp.play"),
        ({"name": "game"}, "_minecraft._tcp.game"),
        ({"name": ""}, "_minecraft._tcp"),
        ({"protocol": None}, "_minecraft._tcp.play"),
    ],
    ids=str,
)
def test_the_name_of_a_service_follows_its_parts(api, records, domain, change, name):
    made = api.post(records, SRV).json()
    changed = api.put(f"{records}/{made['id']}", change).json()
    assert changed == {**made, **change, "name": name, "updated": changed["updated"]}
    (found,) = read_zone(api, domain).find_rdataset(name, "SRV")
    assert found.to_text() == f"0 0 25565 {HOST}."


def test_a_service_with_the_underscores_of_older_answers_is_shown_without(api, records, domain):
    """Rows had these values before answers showed the values that were sent."""
    record = RecordFactory(
        domain=domain, type="SRV", name="_sip._tcp", service="_sip", protocol="_tcp", target=HOST, port=5060
    )
    path = f"{records}/{record.pk}"
    shown = api.get(path).json()
    assert (shown["name"], shown["service"], shown["protocol"]) == ("_sip._tcp", "sip", "tcp")
    assert api.put(path, shown).json() == shown
    assert not Event.objects.exists()


REMOTE = "[remote_addr]"


@pytest.mark.parametrize(
    ("kind", "address", "target"),
    [
        ("A", "198.51.100.7", "198.51.100.7"),
        ("A", "::ffff:198.51.100.7", "198.51.100.7"),
        ("AAAA", "2001:DB8::7", "2001:db8::7"),
    ],
)
def test_a_record_takes_the_address_of_its_caller(api, records, domain, kind, address, target):
    api.address = address
    assert api.post(records, {"type": kind, "name": "home", "target": REMOTE}).json()["target"] == target
    other = RecordFactory(domain=domain, type=kind, target="203.0.113.7" if kind == "A" else "2001:db8::1")
    path = f"{records}/{other.pk}"
    assert api.put(path, {"target": f" {REMOTE} "}).json()["target"] == target
    events = Event.objects.count()
    assert api.put(path, {"target": REMOTE}).status_code == 200
    assert Event.objects.count() == events, "the address is the same as before"


@pytest.mark.parametrize(("kind", "address"), [("A", "2001:db8::7"), ("AAAA", "198.51.100.7"), ("A", "")])
def test_a_caller_without_an_address_of_the_family_is_refused(api, records, domain, kind, address):
    record = RecordFactory(domain=domain, type=kind, target="203.0.113.7" if kind == "A" else "2001:db8::1")
    wish = {"type": kind, "name": "home", "target": REMOTE}
    version = {"A": 4, "AAAA": 6}[kind]
    api.address = address
    for answer in (api.post(records, wish), api.put(f"{records}/{record.pk}", {"target": REMOTE})):
        assert errors(answer) == {"target": f"The request did not come from an IPv{version} address."}
    assert list(DomainRecord.objects.values_list("target", flat=True)) == [record.target]


def test_the_address_of_a_caller_is_that_in_front_of_the_proxies(api, records, settings):
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    headers = {"X-Forwarded-For": "192.0.2.66, 198.51.100.7"}
    made = api.post(records, {"type": "A", "name": "home", "target": REMOTE}, headers=headers)
    assert made.json()["target"] == "198.51.100.7"


@pytest.mark.parametrize("kind", ["TXT", "CNAME"])
def test_the_word_for_the_callers_address_is_none_of_other_types(api, records, kind):
    answer = api.post(records, {"type": kind, "name": "home", "target": REMOTE})
    assert (answer.status_code, kind) in ((200, "TXT"), (400, "CNAME"))
    assert kind != "TXT" or answer.json()["target"] == REMOTE


NO_MAIL = {"type": "MX", "target": "", "priority": 0}


def test_a_domain_without_mail_has_no_other_mx_record(api, records, domain):
    mail = api.post(records, {"type": "MX", "target": HOST, "priority": 10}).json()
    assert wrong_fields(api.post(records, NO_MAIL)) == ["target"]
    assert wrong_fields(api.post(records, {**NO_MAIL, "target": "."})) == ["target"]
    other = api.post(records, {"type": "MX", "name": "sub", "target": HOST}).json()
    assert api.delete(f"{records}/{mail['id']}").status_code == 200
    none = api.post(records, NO_MAIL).json()
    for target in (HOST, ""):
        assert wrong_fields(api.post(records, {**NO_MAIL, "target": target})) == ["target"]
    assert wrong_fields(api.put(f"{records}/{other['id']}", {"name": ""})) == ["target"]
    assert wrong_fields(api.put(f"{records}/{none['id']}", {"name": "quiet"})) == ["name"]
    assert wrong_fields(api.put(f"{records}/{none['id']}", {"priority": 1})) == ["priority"]
    assert api.put(f"{records}/{none['id']}", none).json() == none
    assert [line for line in zone_of(api, domain) if " MX " in line] == [
        "@ IN MX 0 .", f"sub IN MX 0 {HOST}."
    ]  # fmt: skip
    assert api.put(f"{records}/{none['id']}", {"target": HOST}).json()["target"] == HOST
    assert wrong_fields(api.put(f"{records}/{other['id']}", {"name": "", "target": ""})) == ["target"]


def test_older_rows_that_say_both_are_served_as_mail(api, domain):
    for target in ("", HOST):
        RecordFactory(domain=domain, type="MX", name="", target=target)
    assert [line for line in zone_of(api, domain) if " MX " in line] == [f"@ IN MX 0 {HOST}."]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_keep_either_mail_or_no_mail_records(world: World):
    domain = domains.create(
        world.actor,
        domains.DomainSpec({"label": "example.com", "type": "master", "soa_email": "dns@example.com"}),
    )
    results = race(
        lambda number: domain_records.create(
            world.actor, domain, {**NO_MAIL, "target": "" if number % 2 else HOST, "priority": 0}
        )
    )
    targets = [record.target for record in done(results)]
    assert sorted(domain.records.values_list("target", flat=True)) == sorted(targets)
    assert targets in ([""], [HOST] * (RACERS // 2))


@pytest.mark.parametrize("other", [{}, {"port": 1}, {"priority": 1}, {"ttl_sec": 300}], ids=str)
def test_a_record_may_be_there_twice_and_is_served_once(api, records, domain, other):
    wish = {"type": "A", "name": "www", "target": "203.0.113.7"}
    first, second = (api.post(records, body).json() for body in (wish, wish | other))
    assert first["id"] != second["id"]
    assert len([line for line in zone_of(api, domain) if line.endswith("IN A 203.0.113.7")]) == 1


@pytest.mark.parametrize(
    ("wish", "other"),
    [
        ({"type": "MX", "target": HOST, "priority": 10}, {"priority": 20}),
        ({"type": "SRV", "service": "sip", "protocol": "tcp", "target": HOST, "port": 5060}, {"priority": 1}),
        ({"type": "SRV", "service": "sip", "protocol": "tcp", "target": HOST, "port": 5060}, {"weight": 1}),
        ({"type": "SRV", "service": "sip", "protocol": "tcp", "target": HOST, "port": 5060}, {"port": 5061}),
        ({"type": "CAA", "tag": "issue", "target": "letsencrypt.org"}, {"tag": "issuewild"}),
    ],
    ids=str,
)
def test_records_that_differ_where_their_type_does_are_two(api, records, domain, wish, other):
    """As in imported zones: every record that was read can be written again."""
    first, second = (api.post(records, body).json() for body in (wish, wish | other))
    assert len([line for line in zone_of(api, domain) if f" IN {wish['type']} " in line]) == 2
    assert api.put(f"{records}/{first['id']}", first).json() == first
    assert api.put(f"{records}/{second['id']}", second).json() == second
    assert [event.action for event in Event.objects.all()] == ["dns_record_create"] * 2


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("web", "web.example.com"),
        ("web.example.net", "web.example.net"),
        ("web.example.net.", "web.example.net."),
        ("_web.example.net", "_web.example.net"),
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8::7", "2001:db8::7"),
        (".", "."),
    ],
)
def test_the_domain_is_put_behind_a_single_label_that_a_service_is_at(api, records, domain, given, kept):
    made = api.post(records, {"type": "SRV", "service": "sip", "target": given}).json()
    assert (made["target"], made["protocol"], made["name"]) == (kept, None, "_sip._tcp")
    assert f"_sip._tcp IN SRV 0 0 0 {kept.removesuffix('.')}." in zone_of(api, domain)


def test_a_record_is_changed_but_not_its_type(api, records, domain):
    record = RecordFactory(domain=domain)
    path = f"{records}/{record.pk}"
    changed = api.put(path, {"type": "TXT", "target": "203.0.113.9", "ttl_sec": 1}).json()
    assert (changed["type"], changed["target"], changed["ttl_sec"]) == ("A", "203.0.113.9", 300)
    assert wrong_fields(api.put(path, {"target": "nowhere"})) == ["target"]
    api.put(path, {"target": "203.0.113.9"})
    assert [event.action for event in Event.objects.all()] == ["dns_record_update"]


def test_a_record_is_deleted_once(api, records, domain):
    record = RecordFactory(domain=domain)
    assert api.delete(f"{records}/{record.pk}").json() == {}
    assert api.delete(f"{records}/{record.pk}").status_code == 404
    domain.refresh_from_db()
    assert domain.serial > 0


def test_a_slave_has_none_of_its_own(api, account):
    slave = DomainFactory(account=account, type="slave", soa_email="", master_ips=["192.0.2.1"])
    answer = api.post(f"/v4/domains/{slave.pk}/records", {"type": "A", "target": "203.0.113.7"})
    assert wrong_fields(answer) == [None]


def test_records_are_found_below_their_own_domain_alone(api, records, account):
    other = RecordFactory(domain__account=account)
    for call in (api.get, api.put, api.delete):
        assert call(f"{records}/{other.pk}").status_code == 404
    foreign = RecordFactory()
    assert api.get(f"/v4/domains/{foreign.domain_id}/records").status_code == 404
    assert api.get(f"/v4/domains/{foreign.domain_id}/records/{foreign.pk}").status_code == 404


def test_the_zone_file_shows_it_all(api, domain, records):
    Domain.objects.filter(pk=domain.pk).update(serial=7, soa_email="first.last+dns@example.com", retry_sec=300)
    for wish in (
        {"type": "TXT", "name": "t", "target": 'quo"te \\ ' + "x" * 300},
        {"type": "MX", "target": HOST, "priority": 10, "ttl_sec": 300},
        {"type": "SRV", "service": "sip", "protocol": "tcp", "target": HOST, "port": 5060},
        {"type": "CAA", "tag": "issue", "target": "letsencrypt.org"},
    ):
        assert api.post(records, wish).status_code == 200
    lines = api.get(f"/v4/domains/{domain.pk}/zone-file").json()["zone_file"]
    assert lines[1:3] == ["$ORIGIN example.com.", "$TTL 86400"]
    assert lines[3].startswith("@ IN SOA ns1.skerry.example. first\\046last\\043dns.example.com. ")
    assert lines[3].endswith(" 14400 300 1209600 86400")
    assert lines[4:6] == ["@ IN NS ns1.skerry.example.", "@ IN NS ns2.skerry.example."]
    assert '@ IN CAA 0 issue "letsencrypt.org"' in lines
    assert f"@ 300 IN MX 10 {HOST}." in lines
    assert f"_sip._tcp IN SRV 0 0 5060 {HOST}." in lines
    text = next(line for line in lines if line.startswith("t "))
    assert text.startswith('t IN TXT "quo\\"te \\\\ xxx')
    assert text.count('"') == 5
    assert api.put(f"/v4/domains/{domain.pk}", {"soa_email": '"a@b;("@example.com'}).status_code == 200
    soa = api.get(f"/v4/domains/{domain.pk}/zone-file").json()["zone_file"][3]
    assert soa.startswith("@ IN SOA ns1.skerry.example. \\034a\\064b\\059\\040\\034.example.com. ")


def test_the_zone_file_of_a_slave_says_whose_it_is(api, account):
    slave = DomainFactory(account=account, type="slave", soa_email="", master_ips=["192.0.2.1"])
    lines = api.get(f"/v4/domains/{slave.pk}/zone-file").json()["zone_file"]
    assert all(line.startswith(";") for line in lines)
    assert "192.0.2.1" in lines[1]
