"""The account's settings with which staff log in to each compute by SSH."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.models import Instance
from config.db.rows import differing, lock
from config.errors import Problems
from managed.models import ComputeSettings
from managed.services.refs import settings_ref

ANY = ComputeSettings.ANY


@transaction.atomic
def update(actor: Actor, instance: Instance, changes: dict[str, Any], problems: Problems | None = None) -> None:
    """Change the values of ``access``, ``user``, ``ip`` and ``port`` that are in `changes`.

    Raises `Invalid` with every failing field: ``ssh.ip`` if it is neither "any" nor an address of the compute. The
    compute is locked, as by all changes of its addresses, so that it keeps the address until the settings are
    written.
    """
    locked = lock(Instance.objects.filter(pk=instance.pk))
    problems = problems or Problems()
    if "ip" in changes:
        changes["ip"] = _address(locked, changes["ip"], problems)
    problems.raise_any()
    settings = ComputeSettings.objects.filter(pk=locked.pk).first() or ComputeSettings(instance=locked)
    wanted = differing(settings, changes)
    if not wanted:
        return
    for name, value in wanted.items():
        setattr(settings, name, value)
    settings.save()
    record_event(actor, "compute_update", settings_ref(locked), message="The SSH settings of managed were changed.")


def reset(instance_ids: Sequence[int]) -> None:
    """Reset these computes to the default settings, as the contract requires: an address was removed from them."""
    ComputeSettings.objects.filter(instance__in=instance_ids).delete()


_FORGET = """
UPDATE managed_computesettings s SET ip = %(any)s, "user" = NULL, port = NULL
  FROM compute_instance i
 WHERE s.instance_id = i.id AND i.id = ANY(%(ids)s)
   AND s.ip NOT IN (%(any)s, COALESCE(split_part(i.ipv6, '/', 1), '')) AND NOT s.ip = ANY(i.ipv4)
"""


def forget_lost(instance_ids: Sequence[int]) -> None:
    """Reset address, user and port of these computes if another compute got the chosen address.

    `access` does not change: assigning an address to another compute does not change whether staff may log in.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"any": ANY, "ids": list(instance_ids)})


def _address(instance: Instance, wished: str, problems: Problems) -> str:
    """Return the address `wished` as the compute's row spells it.

    Adds a problem on ``ssh.ip`` if the row does not have it.
    """
    if wished == ANY:
        return ANY
    own = [*instance.ipv4, *([instance.ipv6.partition("/")[0]] if instance.ipv6 else [])]
    try:
        wished = str(ipaddress.ip_address(wished))
    except ValueError:
        problems.add("ssh.ip", "ssh.ip is not valid")
        return wished
    if wished not in own:
        problems.add("ssh.ip", "ssh.ip must be any, or an address of this compute")
    return wished
