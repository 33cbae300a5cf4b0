"""The account as a whole: the customer's details, and the settings."""

from typing import Any

import phonenumbers
from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.events import record_event
from accounts.services.refs import account_ref, settings_ref
from config.db.rows import add_failing_fields, differing, write
from config.errors import Invalid, Problems

MANAGED_ALREADY = "Managed is enabled on this account already."


def lock_account(account_id: int) -> Account:
    """Lock the account until the end of the caller's transaction: changes that exclude each other run one by one.

    A transaction that locks instances or services too locks the account first. Rows that merely reference the
    account can be inserted meanwhile.
    """
    return Account.objects.select_for_update(no_key=True).get(pk=account_id)


@transaction.atomic
def create(values: dict[str, Any]) -> Account:
    """Open an account and return it. `values` are column values, of which ``company`` and ``email`` are required.

    Writes no event, since the account has no users yet. Raises `Invalid` with every failing field.
    """
    problems = Problems()
    for name in ("company", "email"):
        if not values.get(name, "").strip():
            problems.add(name, f"{name} is required")
    try:
        values = {**values, "country": country_of(values.get("country", ""))}
    except Invalid as error:
        problems.add("country", str(error))
    account = Account(**values)
    add_failing_fields(problems, account, but=[name for name, value in values.items() if not value])
    problems.raise_any()
    account.save()
    return account


@transaction.atomic
def update(actor: Actor, account: Account, changes: dict[str, Any]) -> None:
    """Write those column values in `changes` that differ from the account's. Raises `Invalid` on ``country``."""
    if "country" in changes:
        changes["country"] = country_of(changes["country"])
    if _write(account, changes):
        record_event(actor, "account_update", account_ref(account))


def country_of(letters: str) -> str:
    """The two-letter country code as stored, in capitals; empty stays empty. Raises `Invalid` on ``country``."""
    country = letters.upper()
    if country and country not in phonenumbers.SUPPORTED_REGIONS:
        raise Invalid("country is not valid", "country")
    return country


@transaction.atomic
def update_settings(actor: Actor, account: Account, changes: dict[str, Any]) -> None:
    """Write ``network_helper`` and ``backups_enabled`` where they differ. Both apply to instances created later."""
    if _write(account, changes):
        record_event(actor, "account_settings_update", settings_ref(account))


@transaction.atomic
def enable_managed(actor: Actor, account: Account) -> None:
    """Turn managed monitoring on for the account. Raises `Invalid` where it is on."""
    if not Account.objects.filter(pk=account.pk, managed=False).update(managed=True):
        raise Invalid(MANAGED_ALREADY)
    account.managed = True
    record_event(actor, "managed_enabled", settings_ref(account))


def _write(account: Account, changes: dict[str, Any]) -> bool:
    wanted = differing(account, changes)
    if wanted:
        write(account, wanted, "updated")
    return bool(wanted)
