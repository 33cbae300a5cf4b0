"""The account as a whole: who the customer is, and its settings."""

from typing import Any

import phonenumbers
from django.db import transaction

from accounts.actors import Actor
from accounts.models import Account
from accounts.services.events import notify
from accounts.services.refs import account_ref, settings_ref
from config.errors import Invalid

MANAGED_ALREADY = "Managed is enabled on this account already."


@transaction.atomic
def update(actor: Actor, account: Account, changes: dict[str, Any]) -> None:
    """Write what differs of the customer; `changes` are column values. Raises `Invalid` on ``country``."""
    if (country := changes.get("country")) is not None:
        changes["country"] = country.upper()
        if country and changes["country"] not in phonenumbers.SUPPORTED_REGIONS:
            raise Invalid("country is not valid", "country")
    if _write(account, changes):
        notify(actor, "account_update", account_ref(account))


@transaction.atomic
def update_settings(actor: Actor, account: Account, changes: dict[str, Any]) -> None:
    """Write what differs of ``network_helper`` and ``backups_enabled``, which hold for what is created later."""
    if _write(account, changes):
        notify(actor, "account_settings_update", settings_ref(account))


@transaction.atomic
def enable_managed(actor: Actor, account: Account) -> None:
    """Turn managed monitoring on for the account. Raises `Invalid` where it is on."""
    if not Account.objects.filter(pk=account.pk, managed=False).update(managed=True):
        raise Invalid(MANAGED_ALREADY)
    account.managed = True
    notify(actor, "managed_enabled", settings_ref(account))


def _write(account: Account, changes: dict[str, Any]) -> bool:
    wanted = {name: value for name, value in changes.items() if getattr(account, name) != value}
    for name, value in wanted.items():
        setattr(account, name, value)
    if wanted:
        account.save(update_fields=[*wanted, "updated"])
    return bool(wanted)
