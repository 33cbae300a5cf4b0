"""Whether an instance has backups, and when: the columns of its row, which the caller writes."""

from typing import Any

from compute.models import Instance, InstanceType

SCHEDULING = Instance.Day.SCHEDULING
"""What a day and a window read until the platform has chosen them."""
NOT_OFFERED = "Backups are not offered for this type."
OFF = {
    "backups_enabled": False, "backups_available": False, "backups_day": None, "backups_window": None,
    "backups_last_successful": None,
}  # fmt: skip
"""The columns of an instance without backups."""


def is_offered(plan: InstanceType) -> bool:
    """Whether instances of this type can have backups: those that have no price for them cannot."""
    return plan.backup_price_monthly is not None


def switch_on(instance: Instance) -> list[str]:
    """Set the columns of an instance that is to have backups, and return their names.

    What its schedule leaves open the platform chooses soon; it reads ``Scheduling`` until then.
    """
    instance.backups_enabled = True
    instance.backups_day = instance.backups_day or SCHEDULING
    instance.backups_window = instance.backups_window or SCHEDULING
    return ["backups_enabled", "backups_day", "backups_window"]


def scheduled(instance: Instance, given: dict[str, Any]) -> dict[str, Any]:
    """The columns that a client changes, where it leaves the schedule to the platform with null or ``Scheduling``.

    They read ``Scheduling`` then if backups are enabled, and else nothing.
    """
    nobody = SCHEDULING if instance.backups_enabled else None
    names = ("backups_day", "backups_window")
    chosen = {name: nobody for name in names if name in given and given[name] in (None, SCHEDULING)}
    return {**given, **chosen}
