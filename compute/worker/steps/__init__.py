"""The functions of the kinds' steps: one external effect each, described in our own ids.

The names of machines and disks derive from ids that exist before the first call, so that a step which runs twice
asks for the same thing twice. `basic` has the functions that several kinds share; each other module serves one
area.
"""

from compute.worker.steps.basic import (
    create_disks,
    define,
    delete_disks,
    mark_disk_ready,
    remove_instance,
    start,
    stop,
    undefine,
)

__all__ = [
    "create_disks",
    "define",
    "delete_disks",
    "mark_disk_ready",
    "remove_instance",
    "start",
    "stop",
    "undefine",
]
