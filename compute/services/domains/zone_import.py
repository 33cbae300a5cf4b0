"""Importing a zone from the name server that serves it now (AXFR)."""

import ipaddress
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter
from typing import Any

import dns.exception
import dns.message
import dns.name
import dns.query
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from dns.rdtypes.ANY.SOA import SOA

from accounts.actors import Actor
from accounts.quotas import QUOTAS
from accounts.services import attempts, quotas
from accounts.services.events import record_event
from compute.models import Domain, DomainRecord
from compute.punycode import to_ascii
from compute.refs import domain_ref
from compute.services.common.dns_names import (
    DEFAULTS,
    is_host,
    is_mailbox,
    is_zone,
    seconds,
    wrong_zone,
)
from compute.services.domains import domains, zone_transfer
from compute.services.domains.domains import RECORD_COLUMNS, DomainSpec, RecordRow
from compute.services.domains.records import MAX_NAME_LENGTH, MAX_TEXT_LENGTH, RecordValues, check
from compute.services.domains.zone_files import strings
from compute.services.domains.zone_transfer import TransferredZone, Value
from config import word
from config.db.elsewhere import ask_elsewhere
from config.display.plurals import counted
from config.egress import guard, resolver
from config.errors import Invalid, Problems

FIELD = "remote_nameserver"
PORT = 53
MAX_RECORDS = 12_000
"""The most records of a transfer, of all types."""
MAX_TRANSFER_BYTES = 16 << 20
"""The largest size of a transfer in bytes."""
MAX_PRIORITY = 255
MAX_LIST_LENGTH = 1000
"""The largest length of one list of records in the event's message, in characters."""
MAX_CHANGES_LENGTH = 2000
"""The largest length of all changes in the event's message, in characters."""
Type = DomainRecord.Type
_TYPES = frozenset(Type.values)
_row_of = attrgetter(*RECORD_COLUMNS)
_TTL = RECORD_COLUMNS.index("ttl_sec")


@dataclass(frozen=True, slots=True)
class Source:
    """The zone `name` on `server` (``ns1.example.com``, ``192.0.2.1:53``). A value that failed a check before is
    None."""

    name: str | None
    server: str | None


@dataclass(slots=True)
class _Content:
    """The records of a zone that can be imported, in the zone's order, and notes for the message of the event."""

    records: list[RecordRow] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Name and type of each record that cannot be imported."""
    changes: dict[str, list[str]] = field(default_factory=dict)
    """The changed values, each with the names and types of the records that were changed."""

    def note(self, change: str, of: str) -> None:
        self.changes.setdefault(change, []).append(of)

    @property
    def message(self) -> str:
        words = [f"{counted(len(self.records), 'record was', 'records were')} imported."]
        if self.left_out:
            words.append(f"{counted(len(self.left_out), 'was', 'were')} left out: {_listed(self.left_out)}.")
        if self.changes:
            # every TTL may be rounded, so changed TTLs come last
            changes = sorted(self.changes.items(), key=lambda change: change[0].startswith("ttl_sec"))
            listed = [f"{change} ({_listed(of)})" for change, of in changes]
            words.append(f"Changed: {_listed(listed, '; ', MAX_CHANGES_LENGTH)}.")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class _Place:
    """A name server: its name or address, and its port."""

    host: str
    port: int


def import_zone(actor: Actor, source: Source, problems: Problems | None = None) -> Domain:
    """Create a master domain from a zone that another name server transfers.

    Records that are not valid here are left out. The event's message lists these records by name and type, and the
    values that were changed. The zone's own name servers are not mentioned, because the platform's replace them.
    The transfer ends before the transaction begins.

    The request waits for an unknown name server. The lookup of its name and all its addresses together take
    DOMAIN_IMPORT_TIMEOUT seconds at most, and the number of imports of one account is limited.

    Raises `Invalid` on ``domain``, and on ``remote_nameserver`` if the server is not reached or refuses. Raises
    `TooMany` after many imports.
    """
    problems = problems or Problems()
    label = to_ascii((source.name or "").strip()).removesuffix(".")
    if source.name is not None and not is_zone(label):
        problems.add("domain", wrong_zone(label))
    place = _place(source.server, problems)
    problems.raise_any()
    attempts.check("domain_import", f"account:{actor.account_id}")
    name = label.lower()
    zone = ask_elsewhere(_transfer, name, place)
    content = _Content()
    spec = DomainSpec({"label": label, "type": Domain.Type.MASTER, **_authority(zone.soa, name, content)})
    _read(zone, content)
    with transaction.atomic():
        domain = domains.create(actor, spec)
        if len(content.records) > (most := quotas.most_for(actor.account_id, "records")):
            raise Invalid(QUOTAS["records"].reason(most), FIELD)
        domains.add_records(domain, content.records)
        record_event(actor, "dns_zone_import", domain_ref(domain), message=content.message)
    return domain


def _place(server: str | None, problems: Problems) -> _Place:
    """Return the server's host and port, which are valid only without problems. Looks nothing up."""
    if server is None:  # it failed a check before
        return _Place("", PORT)
    try:
        place = _parse(server)
        literal = _literal(place.host)
        if literal is not None:
            _check_open([literal])
        elif not is_host(place.host):
            raise Invalid(f"{FIELD} is not valid", FIELD)
    except Invalid as error:
        problems.note(error)
        return _Place("", PORT)
    return place


def _transfer(name: str, place: _Place) -> TransferredZone:
    """Return the zone as plain data. Does not use the database."""
    deadline = time.monotonic() + settings.DOMAIN_IMPORT_TIMEOUT
    failure: Exception | None = None
    for address in _addresses(place.host):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            return _ask(name, address, place.port, left)
        except (dns.exception.DNSException, OSError, EOFError) as error:
            failure = error
    raise Invalid("The name server does not transfer this domain to us.", FIELD) from failure


def _ask(name: str, address: str, port: int, left: float) -> TransferredZone:
    answer = dns.query.xfr(address, name, port=port, lifetime=left, timeout=left, relativize=False)
    return read(name, _bounded(answer))


def read(name: str, messages: Iterable[dns.message.Message]) -> TransferredZone:
    """Return the zone that a transfer's messages contain. Raises a `dns.exception.DNSException` if it is none."""
    return zone_transfer.read(messages, name, lambda *record: _values(name, *record))


def _bounded(messages: Iterable[dns.message.Message]) -> Iterator[dns.message.Message]:
    """Yield the messages of a transfer. Raises `Invalid` after `MAX_RECORDS` records or `MAX_TRANSFER_BYTES`."""
    received = size = 0
    for message in messages:
        received += sum(map(len, message.answer))
        size += len(message.wire or b"")
        if received > MAX_RECORDS or size > MAX_TRANSFER_BYTES:
            raise Invalid(f"A domain has at most {MAX_RECORDS} records, in {MAX_TRANSFER_BYTES >> 20} MiB.", FIELD)
        yield message


def _parse(server: str) -> _Place:
    """The host and port of ``host``, ``host:port``, ``2001:db8::1`` or ``[2001:db8::1]:port``."""
    server = server.strip()
    host, colon, port = server.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return _Place(to_ascii(server.strip("[]")), PORT)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise Invalid(f"{FIELD} is not valid", FIELD)
    return _Place(to_ascii(host.strip("[]")), int(port))


def _literal(host: str) -> guard.Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _addresses(host: str) -> list[str]:
    """Return the addresses of the server. Raises `Invalid` if there are none, or if one is private or the
    platform's own."""
    literal = _literal(host)
    try:
        found = [literal] if literal else resolver.resolve(host, settings.DOMAIN_IMPORT_TIMEOUT)
    except resolver.Unresolved as error:
        raise Invalid(f"{word.quoted(str(error))}.", FIELD) from error
    _check_open(found)
    return [str(address) for address in found]


def _check_open(addresses: Iterable[guard.Address]) -> None:
    if not all(map(guard.is_open, addresses)):
        raise Invalid("The platform does not ask this name server.", FIELD)


def _listed(items: Sequence[str], separator: str = ", ", longest: int = MAX_LIST_LENGTH) -> str:
    """Join the first items, at least one and up to `longest` characters, and add the number of the other items."""
    ends = accumulate(len(item) + len(separator) for item in items)
    shown = max(1, sum(end <= longest for end in ends))
    more = len(items) - shown
    return separator.join(items[:shown]) + (f" and {more} more" if more else "")


def _authority(soa: SOA, name: str, content: _Content) -> dict[str, Any]:
    """Return a domain's columns from the zone's SOA record. An invalid mailbox is replaced by hostmaster (RFC
    2142)."""
    user, *host = (label.decode("ascii", "replace") for label in soa.rname.labels)
    email = f"{user}@{'.'.join(host).removesuffix('.')}"
    if not _is_email(email):
        email = f"hostmaster@{name.removeprefix('*.')}"
        content.note(f"soa_email became {email}", "@ SOA")
    times = {
        "refresh_sec": soa.refresh,
        "retry_sec": soa.retry,
        "expire_sec": soa.expire,
        "ttl_sec": soa.minimum,
    }
    for column, value in times.items():
        served = seconds(value) or DEFAULTS[column]
        if served != value:
            content.note(f"{column} {value} became {served}", "@ SOA")
    return {"soa_email": email, **times}


def _is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return is_mailbox(text)


def _read(zone: TransferredZone, content: _Content) -> None:
    """Separate the zone's records that can be imported from the others, and note the changed values."""
    found = list(zone)
    with_mail = {name for name, _, _, *values in found if values[0]}
    for name, kind, ttl, *values in found:
        takes_mail, change, *row = values
        if kind == "SOA" or (kind == Type.NS and not name):
            continue
        of = f"{name or '@'} {kind}"
        alone = kind != Type.MX or takes_mail or name not in with_mail
        if not row or not alone:
            content.left_out.append(of)
            continue
        served = seconds(max(ttl, 1))  # 0 would be the platform's default, a day
        content.records.append((*row[:_TTL], served, *row[_TTL + 1 :]))
        if change:
            content.note(str(change), of)
        if served != ttl:
            content.note(f"ttl_sec {ttl} became {served}", of)


def _values(zone: str, name: str, kind: str, data: Any) -> tuple[Value, ...]:
    """Return whether a record names a mail server, a change of its values, and its row's values if it is valid."""
    takes_mail = kind == Type.MX and data.exchange != dns.name.root
    record = _record(kind, name, data) if kind in _TYPES else None
    if record is None or not _fits(record, zone):
        return takes_mail, None
    change = None
    if kind == Type.CAA and data.flags:
        change = f"flags {data.flags} became 0"
    elif kind == Type.TXT and data.strings != strings(record.target):
        change = "strings were joined"
    return takes_mail, change, *_row_of(record)


def _fits(record: RecordValues, zone: str) -> bool:
    """Tell whether the record is valid here, under the same name."""
    name = record.name
    small = len(name) <= MAX_NAME_LENGTH and len(record.target) <= MAX_TEXT_LENGTH
    known = record.priority <= MAX_PRIORITY and (record.tag is None or record.tag in DomainRecord.Tag.values)
    return small and known and not check(record, zone) and record.name == name


def _record(kind: str, name: str, data: Any) -> RecordValues | None:
    """Return a record with the zone's data, or None where its text is not UTF-8."""
    record = RecordValues(kind, name)
    match kind:
        case Type.A | Type.AAAA:
            record.target = data.address
        case Type.NS | Type.CNAME | Type.PTR:
            record.target = _host(data.target)
        case Type.MX:
            record.priority, record.target = data.preference, _host(data.exchange)
        case Type.SRV:
            record.priority, record.weight, record.port = data.priority, data.weight, data.port
            record.target = _host(data.target) or "."
            if "." not in record.target:  # the dot keeps the platform from appending the domain to a single label
                record.target += "."
            record.service, _, rest = name.partition(".")
            record.protocol = rest.partition(".")[0]
        case Type.TXT | Type.CAA:
            try:
                record.target = (b"".join(data.strings) if kind == Type.TXT else data.value).decode()
            except UnicodeDecodeError:
                return None
            record.tag = data.tag.decode() if kind == Type.CAA else None
    return record


def _host(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower() if name != dns.name.root else ""
