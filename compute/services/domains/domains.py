"""Domains: zones that the platform's name servers answer for."""

import ipaddress
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import orjson
from django.db import connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest, Length

from accounts.actors import Actor
from accounts.services import quotas
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.grants import forget_entity, grant_creator
from compute.models import Domain, DomainRecord
from compute.punycode import to_ascii
from compute.refs import domain_ref
from compute.services.common.dns_names import (
    is_mailbox,
    is_name,
    is_suffix,
    is_zone,
    seconds,
    wrong_zone,
)
from config.db.rows import lock
from config.db.unique import note_taken
from config.egress import guard
from config.errors import Problems
from tags.services import check_tags, differing_tags, set_tags, untag

TIMES = ("retry_sec", "refresh_sec", "expire_sec", "ttl_sec")
LISTS = ("master_ips", "axfr_ips")
MAX_LIST_LENGTH = 1000
"""The largest length of a list of addresses, in characters."""
RECORD_COLUMNS = tuple(
    field.attname
    for field in DomainRecord._meta.concrete_fields
    if field.name not in ("id", "domain", "created", "updated")
)
"""The columns of a record that are copied, in the order of a `RecordRow`."""
RecordRow: TypeAlias = tuple[str | int | None, ...]
ROWS_AT_ONCE = 1000
"""The most records of one statement. A thread keeps the interpreter while it builds the statement's text."""
_NAMES = ", ".join(RECORD_COLUMNS)
_INSERT = f"""
INSERT INTO compute_domainrecord (domain_id, {_NAMES}, created, updated)
SELECT %(domain)s, {_NAMES}, statement_timestamp(), statement_timestamp()
"""
_COPY = f"{_INSERT} FROM compute_domainrecord WHERE domain_id = %(source)s ORDER BY id"
_ADD = f"""{_INSERT}
  FROM jsonb_populate_recordset(NULL::compute_domainrecord, %(rows)s::jsonb) WITH ORDINALITY ORDER BY ordinality
"""


@dataclass(frozen=True, slots=True)
class DomainSpec:
    """The given fields of a request: `values` by column, and `tags`, None if not given."""

    values: Mapping[str, Any]
    tags: Sequence[str] | None = None


@transaction.atomic
def create(actor: Actor, spec: DomainSpec, problems: Problems | None = None) -> Domain:
    """Create a domain, which its creator may change. Raises `Invalid` with every field that is wrong."""
    problems = problems or Problems()
    quotas.check_quota(actor, "domains", Domain.objects.filter(account_id=actor.account_id), problems)
    domain = Domain(account_id=actor.account_id, serial=_now())
    _apply(actor, domain, spec, problems)
    domain.save(force_insert=True)
    _tag(actor, domain, spec.tags)
    grant_creator(actor, "domain", domain.pk)
    record_event(actor, "dns_zone_create", domain_ref(domain))
    _record_errors(actor, domain, "")
    return domain


@transaction.atomic
def update(actor: Actor, domain: Domain, spec: DomainSpec, problems: Problems | None = None) -> Domain:
    """Write the values that differ, with one event if any do. Returns the domain as it is then."""
    locked = lock_domain(domain.pk)
    before = {field.attname: getattr(locked, field.attname) for field in Domain._meta.concrete_fields}
    _apply(actor, locked, spec, problems)
    changed = [name for name, value in before.items() if getattr(locked, name) != value]
    if changed:
        locked.serial = next_serial(locked)
        locked.save(update_fields=[*changed, "serial", "updated"])
    if _tag(actor, locked, spec.tags) or changed:
        record_event(actor, "dns_zone_update", domain_ref(locked))
        _record_errors(actor, locked, before["errors"])
    return locked


def _record_errors(actor: Actor, domain: Domain, before: str) -> None:
    """Record an event with the errors of a domain, if these are new."""
    if domain.errors not in ("", before):
        platform = Actor.platform(actor.account_id)
        record_event(platform, "dns_zone_update", domain_ref(domain), message=domain.errors)


@transaction.atomic
def delete(actor: Actor, domain: Domain) -> None:
    """Delete a domain with its records, its grants and its tags."""
    locked = lock_domain(domain.pk)
    forget_entity("domain", locked.pk)
    untag("domain", locked.pk)
    record_event(actor, "dns_zone_delete", domain_ref(locked))
    locked.delete()


@transaction.atomic
def clone(actor: Actor, source: Domain, name: str) -> Domain:
    """Create a domain under another name, with the settings, the times, the records and the tags of the source."""
    lock_account(actor.account_id)  # before the source, for the quota
    locked = lock_domain(source.pk)
    problems = Problems()
    _check_names(locked, to_ascii(name), problems)
    problems.raise_any()
    copied = ("type", "status", "group", "description", "soa_email", *LISTS, *TIMES)
    tags = locked.tags if not actor.restricted else ()
    made = create(actor, DomainSpec({"label": name, **{key: getattr(locked, key) for key in copied}}, tags or None))
    with connection.cursor() as cursor:
        cursor.execute(_COPY, {"domain": made.pk, "source": locked.pk})
    return made


def add_records(domain: Domain, rows: Iterable[RecordRow]) -> None:
    """Insert records into a new domain, in their order. Uses few statements, since the account is locked."""
    remaining = iter(rows)
    with connection.cursor() as cursor:
        while batch := [dict(zip(RECORD_COLUMNS, row, strict=True)) for row in islice(remaining, ROWS_AT_ONCE)]:
            cursor.execute(_ADD, {"domain": domain.pk, "rows": orjson.dumps(batch).decode()})


def lock_domain(pk: int) -> Domain:
    """Lock a domain, as every change of it or of its records does first. Raises `Missing` if it is gone."""
    return lock(Domain.objects.filter(pk=pk))


def touch(domain: Domain) -> None:
    """Raise the serial of a zone whose content changed, so that secondary servers ask for it."""
    serial = Greatest(F("serial") + 1, Value(_now()))
    Domain.objects.filter(pk=domain.pk).update(serial=serial)


def next_serial(domain: Domain) -> int:
    """Return the seconds since 1970, or the present serial plus one if that is larger: it grows even if the clock
    goes back."""
    return max(domain.serial + 1, _now())


def _now() -> int:
    return int(time.time())


def asked(addresses: Iterable[str]) -> list[str]:
    """Return the addresses of a slave's masters that the platform asks: those on the internet, or in
    PROBE_ALLOWED."""
    return [address for address in addresses if guard.is_open(ipaddress.ip_address(address))]


def _unasked(domain: Domain) -> str:
    """Return the reason why some masters of the domain are not asked; empty if all of them are."""
    if domain.type != Domain.Type.SLAVE:
        return ""
    good = asked(domain.master_ips)
    return " ".join(f"The platform does not ask {each}." for each in domain.master_ips if each not in good)


def _apply(actor: Actor, domain: Domain, spec: DomainSpec, problems: Problems | None) -> None:
    """Set the given fields on the row, checked against each other and against the row's other fields."""
    problems = problems or Problems()
    before = domain.label
    for name, value in spec.values.items():
        setattr(domain, name, value)
    if "label" in spec.values:
        written = to_ascii(domain.label).removesuffix(".")
        domain.label = written.lower()
        domain.spelling = written if written != domain.label else ""
        # lower() turns letters such as the Kelvin sign into ASCII: the written name must be checked
        if domain.label != before or not written.isascii():
            _check_label(actor, domain, written, problems)
    for name in TIMES:
        setattr(domain, name, seconds(getattr(domain, name)))
    if "soa_email" not in problems:
        if domain.type == Domain.Type.MASTER and not domain.soa_email:
            problems.add("soa_email", "soa_email required when type=master")
        elif domain.soa_email and not is_mailbox(domain.soa_email):
            problems.add("soa_email", "soa_email is not valid")
    if domain.type == Domain.Type.SLAVE and not domain.master_ips and "master_ips" not in problems:
        problems.add("master_ips", "You need at least one master DNS server IP address for this zone.")
    domain.errors = _unasked(domain)
    for name in LISTS:
        if sum(map(len, getattr(domain, name))) > MAX_LIST_LENGTH:
            problems.add(name, f"{name} must be at most {MAX_LIST_LENGTH} characters together")
        setattr(domain, name, list(dict.fromkeys(getattr(domain, name))))
    if domain.pk and domain.type == Domain.Type.SLAVE and domain.records.exists():
        problems.add("type", "A domain with records cannot be a slave: delete them first.")
    if (tags := differing_tags(spec.tags, domain.tags)) is not None:
        check_tags(actor, tags, problems)
    note_taken(domain, problems)
    problems.raise_any()


def _check_label(actor: Actor, domain: Domain, written: str, problems: Problems) -> None:
    """Check a new name of the domain: it must not be below a domain of another account."""
    if not is_zone(written):
        problems.add("domain", wrong_zone(written))
        return
    if is_suffix(domain.label):
        problems.add("domain", "This is a public suffix: anybody can register names below it.")
    parts = domain.label.split(".")
    above = [".".join(parts[at:]) for at in range(1, len(parts))]
    if Domain.objects.filter(label__in=above).exclude(account_id=actor.account_id).exists():
        problems.add("domain", "This domain is below one of another account.")
    if domain.pk:
        _check_names(domain, domain.label, problems)


def _check_names(domain: Domain, label: str, problems: Problems) -> None:
    """Check that the names of the domain's records stay valid under another domain name: a longer one may make them
    too long."""
    # each name is valid below the present name, so the longest one decides
    named = domain.records.exclude(name="").order_by(Length("name").desc())
    longest = named.values_list("name", flat=True).first()
    # names of TXT records may contain stars; replacing a star keeps the length
    if longest is not None and is_zone(label) and not is_name(f"{longest.replace('*', 'x')}.{label}"):
        problems.add("domain", "A record of the domain cannot be below this name.")


def _tag(actor: Actor, domain: Domain, labels: Sequence[str] | None) -> bool:
    tags = differing_tags(labels, domain.tags)
    if tags is None:
        return False
    domain.tags = set_tags(actor.account_id, "domain", domain.pk, tags)
    domain.save(update_fields=["tags", "updated"])
    return True
