"""Zones as text (RFC 1035, 5), for readers and for name servers."""

from collections.abc import Iterator

import dns.name
from django.conf import settings
from dns.rdata import Rdata
from dns.rdataclass import IN
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.CAA import CAA
from dns.rdtypes.ANY.CNAME import CNAME
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.NS import NS
from dns.rdtypes.ANY.PTR import PTR
from dns.rdtypes.ANY.TXT import TXT
from dns.rdtypes.IN.A import A
from dns.rdtypes.IN.AAAA import AAAA
from dns.rdtypes.IN.SRV import SRV

from compute.models import Domain, DomainRecord
from compute.services.common.dns_names import DEFAULTS

Type = DomainRecord.Type
STRING_BYTES = 255
"""The length of one string of a TXT record in bytes."""


def lines(domain: Domain) -> list[str]:
    """Return the lines of a master zone, SOA first. A slave, whose records its masters have, has comments. One
    query."""
    name = f"{domain.label}."
    heading = [f"; {domain.label} [{domain.pk}]", f"$ORIGIN {name}", f"$TTL {_ttl(domain)}"]
    if domain.type == Domain.Type.SLAVE:
        return [heading[0], f"; a slave of {', '.join(domain.master_ips)}"]
    own = [f"@ IN NS {_name(server)}" for server in settings.DNS_NAMESERVERS]
    return [*heading, _soa(domain), *own, *_records(domain)]


def _soa(domain: Domain) -> str:
    user, _, host = domain.soa_email.rpartition("@")
    mailbox = f"{_escaped(user)}.{_name(host.lower())}"
    times = " ".join(
        str(getattr(domain, name) or DEFAULTS[name]) for name in ("refresh_sec", "retry_sec", "expire_sec")
    )
    serial = domain.serial % 2**32
    return f"@ IN SOA {_name(settings.DNS_NAMESERVERS[0])} {mailbox} {serial} {times} {_ttl(domain)}"


def _records(domain: Domain) -> Iterator[str]:
    served = set()  # the DNS has each record once, however often a customer wrote it
    records = sorted(domain.records.all(), key=lambda record: (record.name, record.type, record.pk))
    with_mail = {record.name for record in records if record.type == Type.MX and record.target}
    for record in records:
        # rows of earlier releases may have both kinds, which RFC 7505 forbids
        if record.type == Type.MX and not record.target and record.name in with_mail:
            continue
        data = f"{record.type} {_data(record).to_text()}"
        if (record.name, data) not in served:
            served.add((record.name, data))
            ttl = f"{record.ttl_sec} " if record.ttl_sec else ""
            yield f"{record.name or '@'} {ttl}IN {data}"


def _data(record: DomainRecord) -> Rdata:
    """Return the record's data. No customer's text in it can end a string or the line."""
    kind, target = RdataType.make(record.type), record.target
    match record.type:
        case Type.A:
            return A(IN, kind, target)
        case Type.AAAA:
            return AAAA(IN, kind, target)
        case Type.TXT:
            return TXT(IN, kind, strings(target))
        case Type.CAA:
            return CAA(IN, kind, 0, record.tag, target.encode())
        case Type.MX:
            # without a target the domain takes no mail (RFC 7505)
            return MX(IN, kind, record.priority if target else 0, _name(target or "."))
        case Type.SRV:
            return SRV(IN, kind, record.priority, record.weight, record.port, _name(target))
    return _OF_A_NAME[Type(record.type)](IN, kind, _name(target))


def strings(text: str) -> tuple[bytes, ...]:
    """Split a text into the strings of a TXT record."""
    data = text.encode()
    return tuple(data[at : at + STRING_BYTES] for at in range(0, len(data), STRING_BYTES))


_OF_A_NAME = {Type.NS: NS, Type.CNAME: CNAME, Type.PTR: PTR}


def _name(text: str) -> dns.name.Name:
    """Return an absolute name: customers write names in full, with or without the dot at the end."""
    return dns.name.from_text(text)


def _escaped(user: str) -> str:
    """Return a mailbox's user as one label.

    dnspython does not escape a plus sign and similar characters in a name, and Knot DNS refuses a zone with them.
    """
    return "".join(chr(b) if chr(b).isalnum() or b in b"-_" else f"\\{b:03d}" for b in user.encode("ascii"))


def _ttl(domain: Domain) -> int:
    return domain.ttl_sec or DEFAULTS["ttl_sec"]
