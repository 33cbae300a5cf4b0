"""The records of a domain, and the rules of each record type."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account
from accounts.services import quotas
from accounts.services.events import record_event
from compute.models import Domain, DomainRecord
from compute.punycode import MAX_LABEL_LENGTH, to_ascii
from compute.refs import domain_ref, record_ref
from compute.services.common.dns_names import (
    is_alias,
    is_host,
    is_name,
    relative,
    seconds,
)
from compute.services.domains.domains import lock_domain, touch
from config.errors import Missing, Problems, wrong_length

Type = DomainRecord.Type
MAX_TEXT_LENGTH = 4096
"""The largest length of a TXT record in characters. Zone files split it into the DNS's strings of 255 bytes."""
MAX_NAME_LENGTH = 100
"""The largest length of a name below its zone, in characters."""
DEFAULT_PROTOCOL = "_tcp"
"""The protocol of an SRV record that has none."""
REMOTE_ADDRESS = "[remote_addr]"
"""The target of A and AAAA records that stands for the caller's address."""
SLAVE = "A slave domain has the records of its masters, and none of its own."
ADDRESS_VERSIONS = {Type.A: 4, Type.AAAA: 6}
_SERVICE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)
_SRV_TARGET = re.compile(r"(?=.{1,253}\Z)(?:[A-Za-z0-9_:-]{1,63}\.)*[A-Za-z0-9_:-]{1,63}\.?", re.ASCII)
"""The pattern of SRV targets: labels of letters, digits, hyphens and underscores. Some clients send IPv6 addresses,
so colons are valid."""
_CA = re.compile(r"[!#-:<-~]*(?:\s*;\s*[\w-]+=[!#-:<-~]*)*\s*;?", re.ASCII)
_REPORT = re.compile(r"(?:mailto:[^\s@]+@[^\s@]+|https?://[!-~]+)", re.ASCII)


@dataclass(slots=True)
class RecordValues:
    """The columns of a checked record without a row: cheaper than a model, for thousands of records."""

    type: str
    name: str
    target: str = ""
    priority: int = 0
    weight: int = 0
    port: int = 0
    service: str | None = None
    protocol: str | None = None
    ttl_sec: int = 0
    tag: str | None = None


Checked: TypeAlias = DomainRecord | RecordValues


@transaction.atomic
def create(
    actor: Actor, domain: Domain, values: Mapping[str, Any], problems: Problems | None = None, remote: str = ""
) -> DomainRecord:
    """Add a record to a master domain. `remote` is the caller's address, for the target `REMOTE_ADDRESS`.

    Raises `Invalid` with every field that is wrong.
    """
    problems = problems or Problems()
    locked = lock_domain(domain.pk)
    if locked.type != Domain.Type.MASTER:
        problems.add(None, SLAVE)
    else:
        # counted while the domain is locked: every request that adds records locks it
        own = Account.objects.values_list("quotas", flat=True).get(pk=actor.account_id)
        quotas.compare("records", own, locked.records.all(), problems)
    record = DomainRecord(domain=locked)
    _apply(record, locked, values, problems, remote)
    record.save(force_insert=True)
    touch(locked)
    record_event(actor, "dns_record_create", domain_ref(locked), record_ref(record))
    return record


@transaction.atomic
def update(
    actor: Actor,
    record: DomainRecord,
    values: Mapping[str, Any],
    problems: Problems | None = None,
    remote: str = "",
) -> DomainRecord:
    """Write the values that differ, except the type, which cannot change. Returns the record as it is then.

    `remote` is the caller's address, for the target `REMOTE_ADDRESS`.
    """
    domain = lock_domain(record.domain_id)
    locked = DomainRecord.objects.filter(pk=record.pk).first()
    if locked is None:
        raise Missing
    before = {field.attname: getattr(locked, field.attname) for field in DomainRecord._meta.concrete_fields}
    given = {name: value for name, value in values.items() if name != "type"}
    _apply(locked, domain, given, problems or Problems(), remote)
    changed = [name for name, value in before.items() if getattr(locked, name) != value]
    if changed:
        locked.save(update_fields=[*changed, "updated"])
        touch(domain)
        record_event(actor, "dns_record_update", domain_ref(domain), record_ref(locked))
    return locked


@transaction.atomic
def delete(actor: Actor, record: DomainRecord) -> None:
    """Delete a record. Raises `Missing` if another request was first."""
    domain, ref = lock_domain(record.domain_id), record_ref(record)
    if not DomainRecord.objects.filter(pk=record.pk).delete()[0]:
        raise Missing
    touch(domain)
    record_event(actor, "dns_record_delete", domain_ref(domain), ref)


def as_sent(kind: str, stored: str | None) -> str | None:
    """Return the service or protocol of a record as the client sent it.

    SRV records store an underscore in front. Earlier releases stored the same underscore and showed it in answers,
    so rows need no migration.
    """
    return stored.removeprefix("_") if kind == Type.SRV and stored else stored


def _apply(
    record: DomainRecord, domain: Domain, values: Mapping[str, Any], problems: Problems, remote: str
) -> None:
    """Set the given fields on the row. Check the record by itself and against the domain's other records."""
    for name, value in values.items():
        setattr(record, name, value)
    if record.type == Type.SRV:
        for name in ("service", "protocol"):
            if value := values.get(name):
                setattr(record, name, f"_{value}")
    version = ADDRESS_VERSIONS.get(Type(record.type)) if record.type else None
    if version and record.target.strip() == REMOTE_ADDRESS:
        record.target = _remote_address(remote, version)
        if not record.target and "target" not in problems:
            problems.add("target", f"The request did not come from an IPv{version} address.")
    own = check(record, domain.label)
    for problem in own:
        if problem.field not in problems:
            problems.add(problem.field, problem.reason)
    if record.type and not own:
        _note_cname_conflicts(record, domain, problems)
    problems.raise_any()


def _remote_address(remote: str, version: int) -> str:
    """Return the caller's address if it has this IP version, else an empty text."""
    try:
        address = ipaddress.ip_address(remote)
    except ValueError:  # a request through a Unix socket has no address
        return ""
    address = getattr(address, "ipv4_mapped", None) or address
    return str(address) if address.version == version else ""


def check(record: Checked, zone: str) -> Problems:
    """Convert the record's fields to the form they are stored in. Return the problems of the record by itself.

    If the type is missing, because it failed a check before, only the name is checked.
    """
    problems = Problems()
    record.ttl_sec = seconds(record.ttl_sec)
    record.target = record.target.strip() if record.type != Type.TXT else record.target
    record.name = relative(record.name, zone)
    if record.type:
        CHECKS[Type(record.type)](record, problems)
    if record.type == Type.SRV and "." not in record.target and ":" not in record.target:
        record.target = f"{record.target}.{zone}"
    # a star inside a label is an ordinary character (RFC 4592); tools put such TXT records beside wildcard records
    name = record.name.replace("*", "x") if record.type == Type.TXT else record.name
    if name and not is_name(f"{name}.{zone}"):
        problems.add("name", "name is not valid")
    elif len(name) > MAX_NAME_LENGTH and record.type != Type.SRV:
        problems.add("name", wrong_length(None, MAX_NAME_LENGTH))
    return problems


def _note_cname_conflicts(record: DomainRecord, domain: Domain, problems: Problems) -> None:
    """Note a problem if another record of the domain forbids this one. A duplicate is valid, and served once."""
    others = domain.records.filter(name=record.name).exclude(pk=record.pk)
    if record.type == Type.CNAME:
        if not record.name:
            problems.add("name", "A CNAME record needs a name below the domain.")
        elif others.exists():
            problems.add("name", "This name has other records, so it cannot have a CNAME record.")
    elif others.filter(type=Type.CNAME).exists():
        problems.add("name", "This name has a CNAME record, so it can have no other record.")
    elif record.type == Type.MX:
        mail = others.filter(type=Type.MX)
        if not record.target and mail.exists():
            problems.add(
                "target",
                "This name has other MX records. An MX record without a target must be the only MX record.",
            )
        elif record.target and mail.filter(target="").exists():
            problems.add("target", "This name has an MX record without a target, which must be the only MX record.")


# --- types --------------------------------------------------------------------------------------------------


def _address(version: int) -> Callable[[Checked, Problems], None]:
    def check(record: Checked, problems: Problems) -> None:
        try:
            address = ipaddress.ip_address(record.target)
        except ValueError:
            address = None
        if address is None or address.version != version or "%" in record.target:
            problems.add("target", f"target must be an IPv{version} address")
        else:
            record.target = str(address)

    return check


def _host(record: Checked, problems: Problems) -> None:
    record.target = to_ascii(record.target)
    if not is_host(record.target):
        problems.add("target", "target must be a host name")
    record.target = record.target.lower()


def _alias(record: Checked, problems: Problems) -> None:
    """Check a CNAME record. Its target may be a name that no host can have, such as ``_acme-challenge``."""
    record.target = to_ascii(record.target)
    if not is_alias(record.target):
        problems.add("target", "target must be a name")
    record.target = record.target.lower()


def _mail(record: Checked, problems: Problems) -> None:
    """Check an MX record. Without a target, the domain accepts no mail (RFC 7505): no name, priority 0."""
    if record.target in ("", "."):
        record.target = ""
        if record.name:
            problems.add("name", "An MX record without a target must be for the domain itself: send no name.")
        if record.priority:
            problems.add("priority", "The priority of an MX record without a target must be 0.")
    else:
        _host(record, problems)


def _text(record: Checked, problems: Problems) -> None:
    if not 0 < len(record.target) <= MAX_TEXT_LENGTH:
        problems.add("target", wrong_length(1, MAX_TEXT_LENGTH))
    elif any(character < " " for character in record.target):
        problems.add("target", "target must not contain control characters")


def _service(record: Checked, problems: Problems) -> None:
    """Check an SRV record, and put its service and its protocol in front of its name, ``_tcp`` without a protocol.

    The labels that the client gave as the name follow. A target may be any name, or an address, which counts as a
    name.
    """
    for field in ("service", "protocol"):
        value = as_sent(record.type, getattr(record, field)) or ""
        if not value and field == "protocol":
            record.protocol = None
        elif not _SERVICE.fullmatch(value) or len(value.removeprefix("_")) > MAX_LABEL_LENGTH - 1:
            problems.add(field, f"{field} is not valid" if value else f"{field} is required")
    if not problems:
        prefix = [_label(record.service), _label(record.protocol or DEFAULT_PROTOCOL)]
        below = _below(record.name, prefix[0])
        record.name = ".".join([*prefix, *below])
        if len(record.name) > MAX_NAME_LENGTH:
            if below:
                problems.add(
                    "name", f"name, service and protocol have more than {MAX_NAME_LENGTH} characters together"
                )
            else:
                problems.add(
                    "service", f"service and protocol make a name of more than {MAX_NAME_LENGTH} characters"
                )
    record.target = to_ascii(record.target)
    if record.target != "." and not _SRV_TARGET.fullmatch(record.target):  # a dot: it is not there (RFC 2782)
        problems.add("target", "target is required" if not record.target else "target is not valid")
    record.target = record.target.lower()


def _label(stored: str | None) -> str:
    """Return the label of a stored service or protocol, with exactly one underscore in front."""
    return f"_{(as_sent(Type.SRV, stored) or '').removeprefix('_').lower()}"


def _below(name: str, service: str) -> list[str]:
    """Return the labels of an SRV record's name after service and protocol, which may be missing.

    Clients send back the whole name. After a change of service or protocol, the name still begins with the old
    ones.
    """
    labels = name.split(".") if name else []
    if len(labels) > 1 and all(label.startswith("_") for label in labels[:2]):
        return labels[2:]
    return labels[1:] if labels[:1] == [service] else labels


def _authority(record: Checked, problems: Problems) -> None:
    """Check a CAA record (RFC 8659): who may issue certificates, or where to report attempts.

    Clients also send a bare domain for `iodef`, and ``*.`` before the authority for `issuewild`.
    """
    if not record.tag:
        problems.add("tag", "tag is required")
    elif record.tag == DomainRecord.Tag.IODEF:
        if ":" not in record.target:
            record.target = to_ascii(record.target)
        if not _REPORT.fullmatch(record.target) and not is_host(record.target):
            problems.add("target", "target must be a domain, or begin with mailto:, http:// or https://")
    else:
        issuer, *parameters = record.target.split(";", 1)
        record.target = ";".join((to_ascii(issuer), *parameters))
        issuer = to_ascii(issuer).strip()
        wild = record.tag == DomainRecord.Tag.ISSUEWILD
        known = not issuer or is_host(issuer.removeprefix("*.") if wild else issuer)
        if not record.target or not known or not _CA.fullmatch(record.target):
            problems.add("target", "target must be the domain of an authority, or ; for none")


CHECKS: dict[DomainRecord.Type, Callable[[Checked, Problems], None]] = {
    Type.A: _address(ADDRESS_VERSIONS[Type.A]),
    Type.AAAA: _address(ADDRESS_VERSIONS[Type.AAAA]),
    Type.NS: _host,
    Type.MX: _mail,
    Type.CNAME: _alias,
    Type.TXT: _text,
    Type.SRV: _service,
    Type.PTR: _host,
    Type.CAA: _authority,
}
"""The check of the target and the other fields, by record type."""
