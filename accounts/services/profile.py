"""Changes that users make to their own profile."""

from typing import Any
from zoneinfo import available_timezones

from django.db import transaction

from accounts.actors import Actor
from accounts.models import User
from accounts.services import outbox, second_factor, users
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from config.db.rows import differing, write
from config.errors import Denied, Problems


@transaction.atomic
def update(actor: Actor, changes: dict[str, Any], problems: Problems | None = None) -> User:
    """Write the column values in `changes` that differ from the actor's own user row. Return the user.

    Equal values are no error. If the address changes, a mail tells the former address. Raises `Denied` on
    ``restricted`` if a restricted user would lift its own restriction, and `Invalid` with every failing field, the
    `problems` first.
    """
    problems = problems or Problems()
    user = User.objects.select_for_update().get(pk=actor.person)
    wanted = differing(user, changes)
    _check(user, wanted, problems)
    problems.raise_any()
    if wanted.pop("two_factor_auth", None) is False:
        second_factor.disable(actor, user)
    if wanted.pop("restricted", False):
        users.restrict(user)
        wanted["restricted"] = True
    if wanted:
        former = user.email
        write(user, wanted)
        outbox.warn_former(user, former)
        if user.account_id is not None:  # staff are on no account, so they have no events
            record_event(actor, "profile_update", profile_ref(user))
    return user


def _check(user: User, wanted: dict[str, Any], problems: Problems) -> None:
    if wanted.get("restricted") is False:
        raise Denied(field="restricted")
    if wanted.get("restricted"):
        users.note_last(user, problems)
    if "timezone" in wanted and wanted["timezone"] not in available_timezones():
        problems.add("timezone", "timezone is not valid")
    if wanted.get("two_factor_auth"):
        problems.add("two_factor_auth", "Two-factor authentication is enabled with /profile/tfa-enable.")
    if wanted.get("ip_whitelist_enabled"):
        problems.add("ip_whitelist_enabled", "The IP whitelist cannot be enabled any more.")
