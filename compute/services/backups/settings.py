"""The backup settings of an instance: columns of its row, which the caller writes."""

from typing import Any

from compute.models import Instance, InstanceType

SCHEDULING = Instance.Day.SCHEDULING
"""The value of a day and a window until the platform has chosen them."""
NOT_OFFERED = "Backups are not offered for this type."
BACKUPS_DISABLED = {
    "backups_enabled": False, "backups_available": False, "backups_day": None, "backups_window": None,
    "backups_last_successful": None,
}  # fmt: skip
"""The columns of an instance without backups."""


def is_offered(plan: InstanceType) -> bool:
    """Whether instances of this type can have backups: types without a price for them cannot."""
    return plan.backup_price_monthly is not None


def switch_on(instance: Instance) -> list[str]:
    """Set the columns that enable backups of an instance, and return the columns' names.

    A day or window that is not given is ``Scheduling`` until the platform has chosen it, which happens soon.
    """
    instance.backups_enabled = True
    instance.backups_day = instance.backups_day or SCHEDULING
    instance.backups_window = instance.backups_window or SCHEDULING
    return ["backups_enabled", "backups_day", "backups_window"]


def scheduled(instance: Instance, given: dict[str, Any]) -> dict[str, Any]:
    """Return the given columns, with a value for a day or window that the client leaves open (null,
    ``Scheduling``).

    The value is ``Scheduling`` if backups are enabled, else None.
    """
    nobody = SCHEDULING if instance.backups_enabled else None
    names = ("backups_day", "backups_window")
    chosen = {name: nobody for name in names if name in given and given[name] in (None, SCHEDULING)}
    return {**given, **chosen}
