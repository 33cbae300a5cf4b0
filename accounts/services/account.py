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


def lock_account(account_id: int) -> Account:
    """Lock the account until the end of the caller's transaction: changes that exclude each other run one by one.

    A transaction that also locks instances or services locks the account first. Rows that only reference the
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
    account = Account(**{**values, **_stored_country(values, problems)})
    add_failing_fields(problems, account, but=["country", *(name for name, value in values.items() if not value)])
    problems.raise_any()
    account.save()
    return account


@transaction.atomic
def update(actor: Actor, account: Account, changes: dict[str, Any], problems: Problems | None = None) -> None:
    """Write the column values in `changes` that differ from the account's.

    Raises `Invalid` with every failing field, the `problems` before ``country``.
    """
    problems = problems or Problems()
    wanted = {**changes, **_stored_country(changes, problems)}
    problems.raise_any()
    if _write(account, wanted):
        record_event(actor, "account_update", account_ref(account))


def _stored_country(values: dict[str, Any], problems: Problems) -> dict[str, str]:
    """Return the country of `values` as it is stored, if there is one.

    An unknown country is added to `problems`.
    """
    try:
        return {"country": country_of(values["country"])} if "country" in values else {}
    except Invalid as error:
        problems.add("country", str(error))
        return {}


def country_of(letters: str) -> str:
    """Return the two-letter country code as stored, in capitals.

    An empty text stays empty. Raises `Invalid` on ``country``.
    """
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
    """Turn managed monitoring on for the account. Does nothing if it is on."""
    if Account.objects.filter(pk=account.pk, managed=False).update(managed=True):
        account.managed = True
        record_event(actor, "managed_enabled", settings_ref(account))


def _write(account: Account, changes: dict[str, Any]) -> bool:
    wanted = differing(account, changes)
    if wanted:
        write(account, wanted, "updated")
    return bool(wanted)
