"""The drivers' names for machines and disks. They derive from our keys, so they are known before anything is
made."""

import re

_MACHINE = re.compile(r"skerry-([1-9][0-9]{0,17})")


def machine_name(instance_id: int | None) -> str:
    """The driver's name for an instance."""
    return f"skerry-{instance_id}"


def disk_name(instance_id: int | None, disk_id: int) -> str:
    """The driver's name for a disk."""
    return f"skerry-{instance_id}-disk-{disk_id}"


def instance_of(machine: str) -> int | None:
    """Return the key in a machine's name; None if the name is not one of ours. The instance may not exist."""
    found = _MACHINE.fullmatch(machine)
    return None if found is None else int(found[1])
