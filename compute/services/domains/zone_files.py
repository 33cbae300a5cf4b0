"""Zones as text (RFC 1035, 5): for people to read, and for name servers to serve."""

from collections.abc import Iterator

from django.conf import settings

from compute.models import Domain, DomainRecord
from compute.services.common.dns_names import DEFAULTS

Type = DomainRecord.Type
STRING = 255
"""Bytes of one string of a TXT record."""


def lines(domain: Domain) -> list[str]:
    """A master zone, its SOA record first; a slave, of which only its masters know, as comments. One query."""
    name = f"{domain.label}."
    heading = [f"; {domain.label} [{domain.pk}]", f"$ORIGIN {name}", f"$TTL {_ttl(domain)}"]
    if domain.type == Domain.Type.SLAVE:
        return [heading[0], f"; a slave of {', '.join(domain.master_ips)}"]
    own = [f"@ IN NS {_absolute(server)}" for server in settings.DNS_NAMESERVERS]
    return [*heading, _soa(domain), *own, *_records(domain)]


def _soa(domain: Domain) -> str:
    user, _, host = domain.soa_email.rpartition("@")
    mailbox = f"{_escaped(user)}.{host.lower()}."
    times = " ".join(
        str(getattr(domain, name) or DEFAULTS[name]) for name in ("refresh_sec", "retry_sec", "expire_sec")
    )
    serial = domain.serial % 2**32
    return f"@ IN SOA {_absolute(settings.DNS_NAMESERVERS[0])} {mailbox} {serial} {times} {_ttl(domain)}"


def _records(domain: Domain) -> Iterator[str]:
    for record in sorted(domain.records.all(), key=lambda record: (record.name, record.type, record.pk)):
        ttl = f"{record.ttl_sec} " if record.ttl_sec else ""
        yield f"{record.name or '@'} {ttl}IN {record.type} {_data(record)}"


def _data(record: DomainRecord) -> str:
    target = record.target
    match record.type:
        case Type.MX:
            return f"{record.priority} {_absolute(target)}" if target else "0 ."
        case Type.SRV:
            return f"{record.priority} {record.weight} {record.port} {_absolute(target)}"
        case Type.TXT:
            return _strings(target)
        case Type.CAA:
            return f"0 {record.tag} {_quoted(target.encode())}"
        case Type.A | Type.AAAA:
            return target
    return _absolute(target)


def _absolute(name: str) -> str:
    """Customers write targets in full; a dot at the end or not."""
    return name if name.endswith(".") else f"{name}."


def _strings(text: str) -> str:
    data = text.encode()
    return " ".join(_quoted(data[at : at + STRING]) for at in range(0, len(data), STRING))


def _quoted(data: bytes) -> str:
    """A string between quotes: nothing that a customer writes ends it, or the line."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03d}" for b in data) + '"'


def _escaped(user: str) -> str:
    """A mailbox's user as one label. Name servers refuse a zone over a plus sign that stands for itself."""
    return "".join(chr(b) if chr(b).isalnum() or b in b"-_" else f"\\{b:03d}" for b in user.encode("ascii"))


def _ttl(domain: Domain) -> int:
    return domain.ttl_sec or DEFAULTS["ttl_sec"]
