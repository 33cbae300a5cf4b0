"""Changes that users make to their own profile."""

from typing import Any
from zoneinfo import available_timezones

from django.db import transaction

from accounts.actors import Actor
from accounts.models import User
from accounts.services import second_factor, users
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from accounts.ssh_keys import parse_public_key
from config.db.rows import differing, write
from config.errors import Denied, Problems


@transaction.atomic
def update(actor: Actor, changes: dict[str, Any]) -> User:
    """Write those column values in `changes` that differ from the actor's own user row. Returns the user.

    Values that do not differ are no error. Raises `Invalid` with every failing field, and `Denied` on
    ``restricted`` where a restricted user would lift its own restriction.
    """
    user = User.objects.select_for_update().get(pk=actor.person)
    wanted = differing(user, changes)
    _check(user, wanted)
    if wanted.pop("two_factor_auth", None) is False:
        second_factor.disable(actor, user)
    if wanted.pop("restricted", False):
        users.restrict(user)
        wanted["restricted"] = True
    if wanted:
        write(user, wanted)
        record_event(actor, "profile_update", profile_ref(user))
    return user


def _check(user: User, wanted: dict[str, Any]) -> None:
    problems = Problems()
    if wanted.get("restricted") is False:
        raise Denied(field="restricted")
    if "timezone" in wanted and wanted["timezone"] not in available_timezones():
        problems.add("timezone", "timezone is not valid")
    if wanted.get("two_factor_auth"):
        problems.add("two_factor_auth", "Two-factor authentication is enabled with /profile/tfa-enable.")
    if wanted.get("ip_whitelist_enabled"):
        problems.add("ip_whitelist_enabled", "The IP whitelist cannot be enabled any more.")
    for index, key in enumerate(wanted.get("lish_authorized_keys") or ()):
        try:
            parse_public_key(key)
        except ValueError as error:
            problems.add(f"authorized_keys[{index}]", str(error))
    problems.raise_any()
