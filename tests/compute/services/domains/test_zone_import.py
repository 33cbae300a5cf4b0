"""Zones from name servers of all kinds: the imported records, and the refusals."""

import ipaddress
import re
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import pytest

from accounts.models import Event
from compute.models import Domain
from compute.services.domains import zone_import
from config.egress import resolver
from config.limits import rates

pytestmark = pytest.mark.django_db
PATH = "/v4/domains/import"
ORIGIN = dns.name.from_text("example.com")
SOA = "ns.example.net. dns.example.com. 1 7200 3600 604800 300"
Answers = Sequence[bytes]


def record(name: str, kind: str, data: str, ttl: int = 300) -> dns.rrset.RRset:
    return dns.rrset.from_text(dns.name.from_text(name, ORIGIN), ttl, "IN", kind, data)


def soa_of(*labels: bytes) -> dns.rrset.RRset:
    """Return the zone's SOA record with these labels as its mailbox."""
    rname = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    wire = dns.name.from_text("ns.example.net").to_wire() + rname + struct.pack("!5L", 1, 7200, 3600, 604800, 300)
    soa = dns.rdata.from_wire(dns.rdataclass.IN, dns.rdatatype.SOA, wire, 0, len(wire))
    return dns.rrset.from_rdata(ORIGIN, 300, soa)


def whole(*rrsets: dns.rrset.RRset, soa: dns.rrset.RRset | None = None) -> list[list[dns.rrset.RRset]]:
    """Return a transfer as a list of messages with one record each."""
    soa = soa or record("@", "SOA", SOA)
    return [[soa], [record("@", "NS", "ns.example.net.")], *([each] for each in rrsets), [soa]]


class Primary(socketserver.ThreadingTCPServer):
    """A name server that answers any query with these messages, and then is silent."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, answer: Callable[[dns.message.Message], Answers]):
        self.answer, self.asked_by = answer, []
        super().__init__(("127.0.0.1", 0), _Handler)

    def verify_request(self, request: socket.socket, client_address: tuple[str, int]) -> bool:
        self.asked_by.append(client_address)
        return True

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        (size,) = struct.unpack("!H", self.request.recv(2))
        query = dns.message.from_wire(self.request.recv(size))
        for wire in self.server.answer(query):
            self.request.sendall(struct.pack("!H", len(wire)) + wire)
        self.request.recv(1)  # until the client disconnects


@pytest.fixture
def primary(settings) -> Iterator[Callable[..., Primary]]:
    """Return a function that starts a name server with these messages. Each is a list of records, or bytes."""
    settings.PROBE_ALLOWED = [ipaddress.ip_network("127.0.0.0/8")]
    settings.DOMAIN_IMPORT_TIMEOUT = 240
    started: list[Primary] = []

    def start(messages: Sequence[bytes | Sequence[dns.rrset.RRset]]) -> Primary:
        def answer(query: dns.message.Message) -> Iterator[bytes]:
            for message in messages:
                if isinstance(message, bytes):
                    yield message
                    continue
                response = dns.message.make_response(query)
                response.answer = list(message)
                yield response.to_wire(max_size=65535)

        server = Primary(answer)
        started.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def ask(api, server: Primary):
    return api.post(PATH, {"domain": "example.com", "remote_nameserver": server.place})


def refused(answer) -> str:
    """Return the reason of a refusal. Checks that nothing was created."""
    assert answer.status_code == 400, answer.content
    (error,) = answer.json()["errors"]
    assert error["field"] == "remote_nameserver"
    assert not Domain.objects.exists()
    assert not Event.objects.exists()
    return error["reason"]


@pytest.mark.parametrize(
    ("labels", "email"),
    [
        ((b"first.last", b"example", b"net"), "first.last@example.net"),
        ((), "hostmaster@example.com"),
        ((b"dns",), "hostmaster@example.com"),
        ((b"dns", b"x\n$INCLUDE /etc/passwd\n", b"net"), "hostmaster@example.com"),
        ((b"dns\n", b"example", b"net"), "hostmaster@example.com"),
        ((b"dns", b"b\xc3\xbccher", b"net"), "hostmaster@example.com"),
        ((b"dns@x", b"example", b"net"), "hostmaster@example.com"),
    ],
    ids=str,
)
def test_the_mailbox_of_a_zone_is_an_address_or_hostmasters(api, primary, labels, email):
    made = ask(api, primary(whole(soa=soa_of(*labels)))).json()
    assert made["soa_email"] == email
    lines = api.get(f"/v4/domains/{made['id']}/zone-file").json()["zone_file"]
    assert len("\n".join(lines).split("\n")) == len(lines) == 6
    assert api.put(f"/v4/domains/{made['id']}", made).json()["soa_email"] == email


def test_records_that_are_not_valid_here_are_left_out(api, primary):
    kept = [
        record("www", "A", "203.0.113.7", ttl=0),
        record("_sip._tcp.sub", "SRV", "1 2 5060 sip.example.net."),
        record("text", "TXT", '"a \\" b" "c"'),
        record("long", "TXT", f'"{"x" * 255}" "y"'),
        record("_sip._udp", "SRV", "1 2 5060 localhost."),
        record("a-*", "TXT", '"heritage=dns"'),
        record("@", "CAA", '128 issue "ca.example.net"'),
        record("@", "MX", "0 ."),
    ]
    left = [
        record("a\\032b", "A", "203.0.113.7"),
        record("a+b", "A", "203.0.113.7"),
        record(f"{'x' * 60}.{'y' * 60}", "A", "203.0.113.7"),
        record("binary", "TXT", '"\\255\\254"'),
        record("lines", "TXT", '"a\\010b"'),
        record("longer", "TXT", " ".join(['"' + "x" * 255 + '"'] * 17)),
        record("mail", "MX", "10 mail_host.example.net."),
        record("mail", "MX", "300 mail.example.net."),
        record("sip.tcp", "SRV", "1 2 5060 sip.example.net."),
        record("_sip", "SRV", "1 2 5060 sip.example.net."),
        record("\\032" * 63 + "._tcp", "SRV", "1 2 5060 sip.example.net."),
        record("@", "CAA", '0 issue "not a host"'),
        record("@", "CAA", '0 contact "mailto:dns@example.com"'),
        record("host", "HINFO", '"a" "b"'),
        record("_443._tcp.www", "TLSA", "3 1 1 " + "ab" * 32),
        record("quiet", "MX", "0 ."),
    ]
    made = ask(api, primary(whole(*kept, *left))).json()
    start, names, changes = re.split(r" left out: |\. Changed: ", Event.objects.latest("pk").message)
    assert start == f"{len(kept)} records were imported. {len(left)} were"
    assert sorted(names.split(", ")) == sorted(
        f"{each.name.relativize(ORIGIN)} {dns.rdatatype.to_text(each.rdtype)}" for each in left
    )
    assert sorted(changes.removesuffix(".").split("; ")) == [
        "flags 128 became 0 (@ CAA)", "strings were joined (text TXT)", "ttl_sec 0 became 300 (www A)",
    ]  # fmt: skip
    path = f"/v4/domains/{made['id']}/records"
    found = {each["name"] or each["type"]: each for each in api.get(path).json()["data"]}
    assert set(found) == {"www", "_sip._tcp.sub", "_sip._udp", "text", "long", "a-*", "CAA", "MX"}
    assert found["www"]["ttl_sec"] == 300
    assert found["text"]["target"] == 'a " bc'
    assert [found["_sip._udp"][name] for name in ("service", "protocol", "target")] == ["sip", "udp", "localhost."]
    for each in found.values():
        assert api.put(f"{path}/{each['id']}", each).json() == each


def test_a_zone_with_mail_has_no_record_of_none(api, primary):
    other = [record("@", "MX", "0 ."), record("@", "MX", "10 mail.example.net.")]
    made = ask(api, primary(whole(*other))).json()
    message = "1 record was imported. 1 was left out: @ MX."
    assert Event.objects.latest("pk").message == message
    (kept,) = api.get(f"/v4/domains/{made['id']}/records").json()["data"]
    assert (kept["target"], kept["priority"]) == ("mail.example.net", 10)


def test_the_message_of_an_import_is_bounded(api, primary):
    left = [record(f"{'x' * 50}{number}", "HINFO", '"a" "b"') for number in range(100)]
    kept = [record(f"host{number}", "A", "203.0.113.7", ttl=number + 1) for number in range(200)]
    flags = record("@", "CAA", '128 issue "ca.example.net"')
    ask(api, primary(whole(*left, *kept, flags)))
    message = Event.objects.latest("pk").message
    assert len(message) < 100 + zone_import.MAX_LIST_LENGTH + zone_import.MAX_CHANGES_LENGTH
    assert message.startswith("201 records were imported. 100 were left out: xx")
    assert " HINFO and 84 more. Changed: flags 128 became 0 (@ CAA); ttl_sec 1 became 300 (host0 A); " in message
    assert message.endswith(" more.")


def test_rounded_times_of_a_zone_are_reported(api, primary):
    soa = record("@", "SOA", "ns.example.net. dns.example.com. 1 0 600 604801 300")
    ask(api, primary(whole(soa=soa)))
    assert Event.objects.latest("pk").message == (
        "0 records were imported. Changed: refresh_sec 0 became 14400 (@ SOA); retry_sec 600 became 3600 (@ SOA); "
        "expire_sec 604801 became 1209600 (@ SOA)."
    )


def test_names_of_an_import_may_be_in_unicode(api, primary, monkeypatch):
    zone = "xn--mnchen-3ya.example."
    soa, servers = (
        dns.rrset.from_text(zone, 300, "IN", kind, data) for kind, data in (("SOA", SOA), ("NS", "ns.example.net."))
    )
    server = primary([[soa], [servers], [soa]])
    asked: list[str] = []
    here = [ipaddress.ip_address("127.0.0.1")]
    monkeypatch.setattr(resolver, "resolve", lambda host, timeout: asked.append(host) or here)
    place = server.place.replace("127.0.0.1", "ns.bücher.münchen")
    made = api.post(PATH, {"domain": "München.example", "remote_nameserver": place}).json()
    assert made["domain"] == zone.removesuffix(".")
    assert asked == ["ns.xn--bcher-kva.xn--mnchen-3ya"]


def test_a_zone_that_is_too_large_is_given_up(api, primary, monkeypatch):
    monkeypatch.setattr(zone_import, "MAX_RECORDS", 10)
    many = [record(f"host{number}", "A", "203.0.113.7") for number in range(20)]
    assert "at most 10 records" in refused(ask(api, primary(whole(*many))))
    monkeypatch.setattr(zone_import, "MAX_TRANSFER_BYTES", 2 << 20)
    large = record("text", "TXT", " ".join(['"' + "x" * 255 + '"'] * 200))
    forever = [*whole()[:2], *([large] for _ in range(60))]
    monkeypatch.setattr(zone_import, "MAX_RECORDS", 100)
    assert "2 MiB" in refused(ask(api, primary(forever)))


def test_silence_is_waited_for_once_however_many_addresses_a_name_has(api, primary, monkeypatch, settings):
    server = primary([])
    settings.DOMAIN_IMPORT_TIMEOUT = 0.4
    monkeypatch.setattr(resolver, "resolve", lambda host, timeout: [ipaddress.ip_address("127.0.0.1")] * 5)
    wish = {"domain": "example.com", "remote_nameserver": server.place.replace("127.0.0.1", "ns.example.net")}
    assert "does not transfer" in refused(api.post(PATH, wish))
    with socket.create_connection(server.server_address) as last:
        while last.getsockname() not in server.asked_by:
            time.sleep(0.01)
    assert len(server.asked_by) <= 2, "each is asked but waited for by all together"


def test_the_second_address_is_asked_where_the_first_refuses(api, primary, monkeypatch):
    server = primary(whole())
    pair = [ipaddress.ip_address("127.0.0.2"), ipaddress.ip_address("127.0.0.1")]
    monkeypatch.setattr(resolver, "resolve", lambda host, timeout: pair)
    wish = {"domain": "example.com", "remote_nameserver": server.place.replace("127.0.0.1", "ns.example.net")}
    assert api.post(PATH, wish).status_code == 200


CHAOS = dns.rrset.from_text(ORIGIN, 300, "CH", "TXT", "x")
CHAOS_ZONE = [("SOA", SOA), ("NS", "ns.example.net."), ("SOA", SOA)]


@pytest.mark.parametrize(
    "messages",
    [
        [b""],
        [b"\0"],
        [b"\xff" * 300],
        [[]],
        [[record("@", "NS", "ns.example.net.")]],
        [[record("www", "A", "203.0.113.7")]],
        [[CHAOS]],
        [[record("@", "SOA", SOA), CHAOS, record("@", "SOA", SOA)]],
        [[dns.rrset.from_text("example.net.", 300, "IN", "SOA", SOA)] * 2],
        [[record("@", "SOA", SOA)], [record("@", "SOA", SOA)]],
        whole(record("www", "SOA", SOA)),
        whole(record("@", "CNAME", "www.example.net.")),
        [[dns.rrset.from_text(ORIGIN, 300, "CH", kind, data)] for kind, data in CHAOS_ZONE],
    ],
    ids=range(13),
)
def test_an_answer_that_is_no_transfer_is_refused(api, primary, messages, settings):
    server = primary(messages)
    settings.DOMAIN_IMPORT_TIMEOUT = 2
    assert refused(ask(api, server))


def test_imports_are_counted(api, primary, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "domain_import": "2/60"}
    rates.forget()
    server = primary(whole())
    assert [ask(api, server).status_code for _ in range(3)] == [200, 400, 429]
    rates.forget()
