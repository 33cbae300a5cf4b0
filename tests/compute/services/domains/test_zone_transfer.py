"""Records of transfers as plain values: the same records, in the same order, as in dnspython's zones."""

import gc
from collections.abc import Sequence

import dns.exception
import dns.message
import dns.name
import dns.rdatatype
import dns.rrset
import dns.zone
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compute.services.common.dns_names import relative
from compute.services.domains import zone_import, zone_transfer

ZONE = "example.com"
ORIGIN = dns.name.from_text(ZONE)
SOA = "ns.example.net. dns.example.com. 1 7200 3600 604800 300"
SIGNATURE = "8 2 300 20300101000000 20200101000000 1 example.com. AAAA"
DATA = {
    "A": ["203.0.113.7", "203.0.113.8"],
    "CNAME": ["www.example.net.", "WWW.example.net.", "www.example.org."],
    "MX": ["0 .", "10 mail.example.net.", "10 MAIL.example.net."],
    "NS": ["ns.example.net."],
    "NSEC": ["www.example.com. A NSEC", "example.com. A NSEC"],
    "RRSIG": [f"A {SIGNATURE}", f"CNAME {SIGNATURE}", f"NSEC {SIGNATURE}"],
    "TXT": ['"a"', '"b"', '"A"'],
    "TYPE65280": ["\\# 1 00", "\\# 1 01"],
}
NAMES = ["@", "www", "WWW", "a.www", "*.www", "a\\.b", "a\\032b", "example.net.", "xexample.com."]
records = st.sampled_from([(kind, data) for kind, values in DATA.items() for data in values]).flatmap(
    lambda record: st.builds(made, st.sampled_from(NAMES), st.just(record), st.sampled_from([0, 60, 300, 86400]))
)


def made(name: str, record: tuple[str, str], ttl: int) -> dns.rrset.RRset:
    return dns.rrset.from_text(dns.name.from_text(name, ORIGIN), ttl, "IN", *record)


def messages(pieces: Sequence[Sequence[dns.rrset.RRset]]) -> list[dns.message.Message]:
    """Return the messages of a transfer, as `dns.query.xfr` reads them."""
    query = dns.message.make_query(ORIGIN, "AXFR")
    found = []
    for piece in pieces:
        response = dns.message.make_response(query)
        response.answer = list(piece)
        found.append(dns.message.from_wire(response.to_wire(max_size=65535), xfr=True, multi=True))
    return found


def whole(pieces: Sequence[Sequence[dns.rrset.RRset]]) -> list[dns.message.Message]:
    soa, name_server = made("@", ("SOA", SOA), 300), made("@", ("NS", "ns.example.net."), 300)
    return messages([[soa, name_server], *pieces, [soa]])


@given(st.lists(st.lists(records, min_size=1, max_size=8), max_size=6))
def test_a_zone_has_the_records_that_dnspython_would_give_it(pieces):
    transfer = whole(pieces)
    try:
        expected = dns.zone.from_xfr(iter(transfer), relativize=False)
    except dns.exception.DNSException as error:  # a CNAME of the zone itself replaces its name server
        with pytest.raises(type(error)):
            zone_transfer.read(transfer, ZONE, lambda name, kind, data: (data.to_text(),))
        return
    zone = zone_transfer.read(transfer, ZONE, lambda name, kind, data: (data.to_text(),))
    assert list(zone) == [
        (relative(owner.to_text(), ZONE), dns.rdatatype.to_text(data.rdtype), ttl, data.to_text())
        for owner, ttl, data in expected.iterate_rdatas()
    ]
    assert zone.soa == expected.get_soa()


def test_the_garbage_collector_tracks_no_object_of_a_record():
    number = 3000
    kinds = [("A", "203.0.113.7"), ("TXT", '"a" "b"'), ("MX", "300 mail.example.net."), ("HINFO", '"a" "b"')]
    rrsets = [made(f"name{each}", kinds[each % len(kinds)], 60) for each in range(number)]
    transfer = [message.to_wire(max_size=65535) for message in whole([rrsets[:1500], rrsets[1500:]])]
    del rrsets
    gc.collect()
    before = len(gc.get_objects())
    zone = zone_import.read(ZONE, (dns.message.from_wire(wire, xfr=True, multi=True) for wire in transfer))
    gc.collect()
    assert len(gc.get_objects()) - before < number / 10
    assert len(list(zone)) == number + 2


def test_many_types_of_one_name_take_no_quadratic_time():
    """dnspython's zone compares each new type with all others of its name: 12,000 of them took minutes."""
    types = [made("@", (f"TYPE{number}", "\\# 0"), 300) for number in range(4000, 16000)]
    zone = zone_transfer.read(
        whole([types[:3000], types[3000:6000], types[6000:9000], types[9000:]]), ZONE, lambda *_: ()
    )
    assert len(list(zone)) == len(types) + 2
