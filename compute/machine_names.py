"""The drivers' names for machines and disks: made of our keys, and so known before anything is made."""


def machine_name(instance_id: int | None) -> str:
    """The driver's name for an instance."""
    return f"skerry-{instance_id}"


def disk_name(instance_id: int | None, disk_id: int) -> str:
    """The driver's name for a disk."""
    return f"skerry-{instance_id}-disk-{disk_id}"
