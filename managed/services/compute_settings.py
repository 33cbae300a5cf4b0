"""How staff get into each compute by SSH: what the account chose."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction

from accounts.actors import Actor
from accounts.services.events import record_event
from compute.models import Instance
from config.db.rows import differing, lock
from config.errors import Invalid
from managed.models import ComputeSettings
from managed.services.refs import settings_ref

ANY = ComputeSettings.ANY


@transaction.atomic
def update(actor: Actor, instance: Instance, changes: dict[str, Any]) -> None:
    """Change what is given of ``access``, ``user``, ``ip`` and ``port``.

    Raises `Invalid` on ``ssh.ip`` where that is neither "any" nor an address of the compute. The compute is locked,
    as for all that changes its addresses, so that it keeps the address while this is written.
    """
    locked = lock(Instance.objects.filter(pk=instance.pk))
    if "ip" in changes:
        changes["ip"] = _address(locked, changes["ip"])
    settings = ComputeSettings.objects.filter(pk=locked.pk).first() or ComputeSettings(instance=locked)
    wanted = differing(settings, changes)
    if not wanted:
        return
    for name, value in wanted.items():
        setattr(settings, name, value)
    settings.save()
    record_event(actor, "compute_update", settings_ref(locked), message="The SSH settings of managed were changed.")


def reset(instance_ids: Sequence[int]) -> None:
    """Back to the defaults: an address was taken off these computes, as the contract has it."""
    ComputeSettings.objects.filter(instance__in=instance_ids).delete()


_FORGET = """
UPDATE managed_computesettings s SET ip = %(any)s, "user" = NULL, port = NULL
  FROM compute_instance i
 WHERE s.instance_id = i.id AND i.id = ANY(%(ids)s)
   AND s.ip NOT IN (%(any)s, COALESCE(split_part(i.ipv6, '/', 1), '')) AND NOT s.ip = ANY(i.ipv4)
"""


def forget_lost(instance_ids: Sequence[int]) -> None:
    """Where the chosen address went to another compute, any of those that are left will do.

    Whether staff may log in at all stays as it was: assigning an address off a compute does not change that.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"any": ANY, "ids": list(instance_ids)})


def _address(instance: Instance, wished: str) -> str:
    """The address as the compute's row spells it."""
    if wished == ANY:
        return ANY
    own = [*instance.ipv4, *([instance.ipv6.partition("/")[0]] if instance.ipv6 else [])]
    try:
        wished = str(ipaddress.ip_address(wished))
    except ValueError:
        raise Invalid("ssh.ip is not valid", "ssh.ip") from None
    if wished not in own:
        raise Invalid("ssh.ip must be any, or an address of this compute", "ssh.ip")
    return wished
