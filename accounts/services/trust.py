"""Trust levels and quotas of single accounts: reading them with their sources, and changing them. For staff."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account, ResourceUse, TrustLevel
from accounts.quotas import LEVELS, NEW, QUOTAS, RESOURCE_QUOTAS
from accounts.services.account import lock_account
from accounts.services.events import record_event
from accounts.services.quotas import EXTRA_IPV4, limits_of_level
from accounts.services.refs import account_ref
from config import word
from config.errors import Invalid

EXTRA_NOUNS = "extra public IPv4 addresses"
_NOUNS = [
    EXTRA_NOUNS,
    *(each.nouns for each in RESOURCE_QUOTAS.values()),
    *(each.nouns for each in QUOTAS.values()),
]
QUOTA_IS = {nouns: word.sentence(f"The quota of {nouns} is {{limit}}: {{reason}}") for nouns in _NOUNS}
"""The messages of events about a new limit, by the nouns of the quota."""
MAX_LIMIT = 2_147_483_647
NO_LIMIT = "no limit"
OWN = "the account's own"
"""The source of a limit that staff set for the account."""


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One quota of an account. No limit is None, and `source` says where the limit comes from.

    `used` is None for numbers of objects, which are counted when an object is added.
    """

    name: str
    nouns: str
    unit: str
    limit: int | None
    source: str
    used: int | None = None
    is_own: bool = False


def trust_levels() -> dict[str, str]:
    """Return the labels of all trust levels by their ids: the built-in ones first. One query."""
    rows = dict(TrustLevel.objects.values_list("id", "label"))
    return {name: rows.pop(name, name.capitalize()) for name in LEVELS} | rows


def resource_lines(account: Account) -> list[QuotaLine]:
    """Return the quotas of what costs money, with the use of each. At most two queries."""
    row = TrustLevel.objects.filter(pk=account.trust_level).values_list("limits", flat=True).first()
    level = account.trust_level if row is not None or account.trust_level in LEVELS else NEW
    limits = limits_of_level(level, row)
    used = getattr(account, "resource_use", None) or ResourceUse()
    lines = []
    for name, quota in RESOURCE_QUOTAS.items():
        own = name in account.quotas
        limit = account.quotas[name] if own else limits.get(name)
        source = OWN if own else f"level {level}"
        lines.append(QuotaLine(name, quota.nouns, quota.unit, limit, source, getattr(used, name), own))
    extra = account.extra_ipv4
    return [*lines, QuotaLine(EXTRA_IPV4, EXTRA_NOUNS, "", extra, OWN, used.extra_ipv4, bool(extra))]


def object_lines(account: Account) -> Iterator[QuotaLine]:
    """Yield the quotas of numbers of objects, without their use."""
    for name, quota in QUOTAS.items():
        own = name in account.quotas
        limit = account.quotas[name] if own else getattr(settings, quota.setting)
        source = OWN if own else f"setting {quota.setting}"
        yield QuotaLine(name, quota.nouns, "", limit, source, is_own=own)


@transaction.atomic
def set_trust_level(actor: Actor, account: Account, level: str, reason: str) -> None:
    """Give an account another trust level. What it has stays, even beyond the limits of the level.

    Raises `Invalid` on ``level``. Writes ``account_update``, with the reason.
    """
    # an apply of a catalogue file locks a level before it removes the level
    row = TrustLevel.objects.select_for_update(no_key=True).filter(pk=level).first()
    if row is None and level not in LEVELS:
        raise Invalid(f"There is no trust level {level!r}. Use one of: {', '.join(trust_levels())}.", "level")
    if not Account.objects.filter(pk=account.pk).exclude(trust_level=level).update(trust_level=level):
        raise Invalid(f"The account's trust level is {level} already.", "level")
    account.trust_level = level
    record_event(actor, "account_update", account_ref(account), message=f"The trust level is {level}: {reason}")


@transaction.atomic
def set_quota(actor: Actor, account: Account, name: str, limit: int | None, reason: str) -> None:
    """Give an account its own limit of a quota, higher or lower than the usual one. None is no limit.

    Only a quota of what costs money can have no limit. Raises `Invalid` on ``quota`` or ``limit``. Writes
    ``account_update``, with the reason.
    """
    nouns = _nouns_of(name)
    if limit is None and name not in RESOURCE_QUOTAS:
        raise Invalid("This quota needs a number.", "limit")
    if limit is not None and not 0 <= limit <= MAX_LIMIT:
        raise Invalid(f"Must be from 0 to {MAX_LIMIT}.", "limit")
    locked = lock_account(account.pk)
    if limit is not None and name == EXTRA_IPV4:
        _write(account, locked.quotas, limit)
    else:
        _write(account, {**locked.quotas, name: limit}, locked.extra_ipv4)
    shown = NO_LIMIT if limit is None else str(limit)
    unit = RESOURCE_QUOTAS[name].unit if limit is not None and name in RESOURCE_QUOTAS else ""
    message = QUOTA_IS[nouns].format(limit=f"{shown} {unit}".strip(), reason=reason)
    record_event(actor, "account_update", account_ref(account), message=message)


@transaction.atomic
def reset_quota(actor: Actor, account: Account, name: str, reason: str) -> None:
    """Give an account the usual limit of a quota again: of its trust level, or of the setting.

    Raises `Invalid` on ``quota``. Writes ``account_update``, with the reason.
    """
    nouns = _nouns_of(name)
    locked = lock_account(account.pk)
    if name == EXTRA_IPV4:
        _write(account, locked.quotas, 0)
    else:
        own = {each: limit for each, limit in locked.quotas.items() if each != name}
        _write(account, own, locked.extra_ipv4)
    message = QUOTA_IS[nouns].format(limit="the default", reason=reason)
    record_event(actor, "account_update", account_ref(account), message=message)


def _nouns_of(name: str) -> str:
    if name == EXTRA_IPV4:
        return EXTRA_NOUNS
    if name in RESOURCE_QUOTAS:
        return RESOURCE_QUOTAS[name].nouns
    if name in QUOTAS:
        return QUOTAS[name].nouns
    known = ", ".join((*RESOURCE_QUOTAS, EXTRA_IPV4, *QUOTAS))
    raise Invalid(f"There is no quota {name!r}. Use one of: {known}.", "quota")


def _write(account: Account, quotas: dict[str, int | None], extra_ipv4: int) -> None:
    account.quotas, account.extra_ipv4 = quotas, extra_ipv4
    account.save(update_fields=["quotas", EXTRA_IPV4, "updated"])
