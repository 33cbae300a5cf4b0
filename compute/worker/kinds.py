"""All kinds of job: the state machine of an instance on one screen.

The status after a job is what the driver says is true: ``running`` when the machine is on, else ``offline``.
"""

from datetime import timedelta

from compute.drivers.base import Power
from compute.jobs.definition import Kind, Step, nothing, register
from compute.models.instances import Instance
from compute.worker import steps
from compute.worker.steps import backups, clones, disks, images, moves, rebuild, rescue, resize, volumes

S = Instance.Status
SETTLED = frozenset(Instance.SETTLED)
LONG = timedelta(hours=12)
"""The deadline of what copies whole disks."""

PROVISION = Kind(
    name="provision",
    verb="provision",
    event="compute_create",
    during=S.PROVISIONING,
    steps=(
        Step("define", steps.define, undo=steps.undefine),
        Step("disks", steps.make_disk, undo=steps.unmake_disks, record=steps.disk_made),
        Step(
            "boot", steps.start, undo=None,
            event="compute_boot", when=lambda data: data["boot"],
        ),
    ),
    unwound=steps.forget,
)  # fmt: skip

BOOT = Kind(
    name="boot",
    verb="boot",
    event="compute_boot",
    starts_from=frozenset({S.OFFLINE, S.STOPPED}),
    during=S.BOOTING,
    steps=(Step("start", steps.start, undo=None),),
)

REBOOT = Kind(
    name="reboot",
    verb="reboot",
    event="compute_reboot",
    starts_from=frozenset({S.RUNNING}),
    during=S.REBOOTING,
    steps=(
        Step("stop", steps.stop, undo=nothing),
        Step("start", steps.start, undo=None),
    ),
)

RESCUE = Kind(
    name="rescue",
    verb="rescue",
    event="compute_reboot",
    starts_from=SETTLED,
    during=S.REBOOTING,
    steps=(
        Step("stop", steps.stop, undo=nothing, when=lambda data: data["running"]),
        Step("start", steps.start, undo=nothing),
    ),
    done=rescue.replace_earlier,
    unwound=rescue.take_back,
)

SHUTDOWN = Kind(
    name="shutdown",
    verb="shut down",
    event="compute_shutdown",
    starts_from=frozenset({S.RUNNING}),
    during=S.SHUTTING_DOWN,
    steps=(Step("stop", steps.stop, undo=None),),
)

DELETE = Kind(
    name="delete",
    verb="delete",
    event="compute_delete",
    starts_from=frozenset(set(S) - {S.CLONING, S.RESTORING, S.DELETING}),
    supersedes=True,
    during=S.DELETING,
    goal=Power.ABSENT,
    steps=(Step("undefine", steps.undefine, undo=None),),
    done=steps.forget,
)

CLONE = Kind(
    name="clone",
    verb="clone",
    event="compute_clone",
    during=S.PROVISIONING,
    steps=(
        Step("define", steps.define, undo=steps.undefine),
        Step("disks", clones.copy_disk, undo=clones.uncopy_disks, record=steps.disk_made),
    ),
    done=clones.release_source,
    unwound=clones.unmake_clone,
    superseded=clones.release_source,
    deadline=LONG,
)

CLONE_INTO = Kind(
    name="clone_into",
    verb="clone into",
    event="compute_clone",
    starts_from=SETTLED,
    during=S.PROVISIONING,
    steps=(Step("disks", clones.copy_disk, undo=clones.uncopy_disks, record=steps.disk_made),),
    done=clones.release_source,
    unwound=clones.empty_out,
    superseded=clones.release_source,
    deadline=LONG,
)

MOVING = (
    Step("stop", steps.stop, undo=moves.boot_again, when=lambda data: data["running"]),
    Step(
        "reshape", moves.reshape, undo=moves.unshape,
        when=lambda data: data["type"] != data["was"],
    ),
    Step("move", moves.move, undo=moves.move_back, record=moves.arrive),
    Step(
        moves.BOOT, steps.start, undo=None,
        event="compute_boot", when=lambda data: data["running"],
    ),
)  # fmt: skip

MIGRATE = Kind(
    name="migrate",
    verb="migrate",
    event="compute_migrate",
    starts_from=SETTLED,
    during=S.MIGRATING,
    steps=MOVING,
    unwound=moves.stay,
    superseded=moves.make_way,
    deadline=LONG,
)

MIGRATE_REGION = Kind(
    name="migrate_region",
    verb="migrate",
    event="compute_migrate_datacenter",
    starts_from=SETTLED,
    during=S.MIGRATING,
    steps=MOVING,
    unwound=moves.stay,
    superseded=moves.make_way,
    deadline=LONG,
)

IMAGIZE = Kind(
    name="imagize",
    verb="make an image of",
    event="disk_imagize",
    starts_from=SETTLED,
    during=None,
    steps=(Step("save", images.save, undo=images.unsave, record=images.complete),),
    unwound=images.forget,
    superseded=images.forget,
    outside=True,
    deadline=LONG,
)

IMPORT_IMAGE = Kind(
    name="import_image",
    verb="import",
    event="image_upload",
    during=None,
    steps=(
        Step("load", images.load, undo=images.unload),
        Step("tidy", images.tidy, undo=images.drop_file, record=images.complete),
    ),
    unwound=images.forget,
    outside=True,
    deadline=LONG,
)

DELETE_IMAGE = Kind(
    name="delete_image",
    verb="delete",
    event="image_delete",
    during=None,
    steps=(Step("delete", images.unsave, undo=images.look),),
    done=images.forget,
    unwound=images.restore,
)

BACKING_UP = (
    Step("begin", nothing, undo=nothing, record=backups.under_way),
    Step("save", backups.save, undo=backups.unsave, record=backups.saved),
)

SNAPSHOT = Kind(
    name="snapshot",
    verb="back up",
    event="compute_snapshot",
    starts_from=SETTLED,
    during=None,
    steps=BACKING_UP,
    done=backups.keep,
    unwound=backups.give_up,
    superseded=backups.give_up,
    outside=True,
    deadline=LONG,
)

BACKUP = Kind(
    name="backup",
    verb="back up",
    event="compute_snapshot",
    starts_from=SETTLED,
    during=None,
    steps=BACKING_UP,
    done=backups.keep,
    unwound=backups.give_up,
    superseded=backups.give_up,
    outside=True,
    deadline=LONG,
)

# On no instance, so that its goal holds whenever it ends: a deletion that fails is not given up but, as an undo,
# tried until it succeeds. Staff see meanwhile why it does not.
DELETE_BACKUPS = Kind(
    name="delete_backups",
    verb="delete",
    event="backups_cancel",
    during=None,
    goal=Power.ABSENT,
    steps=(Step("delete", backups.delete, undo=backups.delete),),
    deadline=LONG,
)

RESTORE = Kind(
    name="restore",
    verb="restore",
    event="backups_restore",
    starts_from=SETTLED,
    during=S.RESTORING,
    steps=(
        Step("stop", steps.stop, undo=backups.come_back, when=lambda data: data["overwrite"]),
        Step(
            "clear", backups.clear, undo=nothing, record=backups.cleared,
            when=lambda data: data["overwrite"],
        ),
        Step("disks", backups.restore_disk, undo=backups.unrestore_disks, record=steps.disk_made),
    ),
    unwound=backups.stay,
    deadline=LONG,
)  # fmt: skip

PROVISION_FROM_BACKUP = Kind(
    name="provision_from_backup",
    verb="provision",
    event="compute_create",
    during=S.RESTORING,
    steps=(
        Step("define", steps.define, undo=steps.undefine),
        Step("disks", backups.restore_disk, undo=backups.unrestore_disks, record=steps.disk_made),
        Step(
            "boot", steps.start, undo=None,
            event="compute_boot", when=lambda data: data["boot"],
        ),
    ),
    unwound=steps.forget,
    deadline=LONG,
)  # fmt: skip

RESIZING = (
    Step("stop", steps.stop, undo=moves.boot_again, when=lambda data: data["running"]),
    Step(
        "disk", resize.resize_disk, undo=resize.unresize_disk,
        when=lambda data: data["disk"] is not None,
    ),
    Step("reshape", moves.reshape, undo=moves.unshape),
    Step("move", moves.move, undo=moves.move_back, record=moves.arrive),
    Step(
        moves.BOOT, steps.start, undo=None,
        event="compute_boot", when=lambda data: data["running"],
    ),
)  # fmt: skip

RESIZE = Kind(
    name="resize",
    verb="resize",
    event="compute_resize",
    starts_from=SETTLED,
    during=S.MIGRATING,
    steps=RESIZING,
    unwound=moves.stay,
    superseded=moves.make_way,
    deadline=LONG,
)

MUTATE = Kind(
    name="mutate",
    verb="upgrade",
    event="compute_mutate",
    starts_from=SETTLED,
    during=S.MIGRATING,
    steps=RESIZING,
    unwound=moves.stay,
    superseded=moves.make_way,
    deadline=LONG,
)

REBUILD = Kind(
    name="rebuild",
    verb="rebuild",
    event="compute_rebuild",
    starts_from=SETTLED,
    during=S.REBUILDING,
    steps=(
        Step("stop", steps.stop, undo=rebuild.boot_old, when=lambda data: data["running"]),
        Step("wipe", rebuild.wipe, undo=rebuild.look, record=rebuild.wiped),
        Step("disks", steps.make_disk, undo=steps.unmake_disks, record=steps.disk_made),
        Step(
            "boot", steps.start, undo=None,
            event="compute_boot", when=lambda data: data["boot"],
        ),
    ),
    unwound=rebuild.settle,
    superseded=rebuild.settle,
    outside=True,
)  # fmt: skip

DISK_CREATE = Kind(
    name="disk_create",
    verb="create a disk on",
    event="disk_create",
    starts_from=SETTLED,
    during=None,
    steps=(Step("make", disks.make, undo=disks.unmake),),
    done=disks.ready,
    unwound=disks.drop,
    superseded=disks.drop,
    outside=True,
)

DISK_CLONE = Kind(
    name="disk_clone",
    verb="clone a disk of",
    event="disk_duplicate",
    starts_from=SETTLED,
    during=None,
    steps=(Step("make", disks.make, undo=disks.unmake),),
    done=disks.ready,
    unwound=disks.drop,
    superseded=disks.drop,
    outside=True,
    deadline=LONG,
)

DISK_RESIZE = Kind(
    name="disk_resize",
    verb="resize a disk of",
    event="disk_resize",
    starts_from=SETTLED,
    during=None,
    steps=(Step("resize", resize.resize_disk, undo=resize.unresize_disk),),
    done=disks.resized,
    unwound=disks.ready,
    superseded=disks.ready,
    outside=True,
    deadline=LONG,
)

DISK_DELETE = Kind(
    name="disk_delete",
    verb="delete a disk of",
    event="disk_delete",
    starts_from=SETTLED,
    during=None,
    steps=(Step("delete", disks.unmake, undo=disks.look),),
    done=disks.drop,
    unwound=disks.keep,
    superseded=disks.keep,
    outside=True,
)

PASSWORD_RESET = Kind(
    name="password_reset",
    verb="reset a password of",
    event="password_reset",
    starts_from=frozenset({S.OFFLINE, S.STOPPED}),
    during=None,
    steps=(Step("set", disks.set_password, undo=nothing),),
    done=disks.ready,
    unwound=disks.ready,
    superseded=disks.ready,
    outside=True,
)

HOST_STOP = Kind(
    name="host_stop",
    verb="stop",
    event="host_reboot",
    starts_from=frozenset({S.RUNNING}),
    during=S.SHUTTING_DOWN,
    off=S.STOPPED,
    steps=(Step("stop", steps.stop, undo=None),),
)

# Attached to an instance it is a job of that instance, else of none.
VOLUME_CREATE = Kind(
    name="volume_create",
    verb="make a volume for",
    event="volume_create",
    starts_from=SETTLED,
    during=None,
    steps=(
        Step("make", volumes.make, undo=volumes.unmake),
        Step("plug", volumes.plug, undo=volumes.unplug, when=lambda data: data["attach"]),
    ),
    done=volumes.made,
    unwound=volumes.forget,
    superseded=volumes.forget,
    outside=True,
)

VOLUME_CLONE = Kind(
    name="volume_clone",
    verb="clone",
    event="volume_clone",
    during=None,
    steps=(Step("make", volumes.make, undo=volumes.unmake),),
    done=volumes.made,
    unwound=volumes.forget,
    outside=True,
    deadline=LONG,
)

# On no instance, also where the volume is attached: it grows in use, whatever its instance does meanwhile.
VOLUME_RESIZE = Kind(
    name="volume_resize",
    verb="resize",
    event="volume_resize",
    during=None,
    steps=(Step("resize", volumes.resize, undo=volumes.look),),
    done=volumes.resized,
    unwound=volumes.stay,
    outside=True,
)

VOLUME_ATTACH = Kind(
    name="volume_attach",
    verb="attach a volume to",
    event="volume_attach",
    starts_from=SETTLED,
    during=None,
    steps=(Step("plug", volumes.plug, undo=volumes.unplug),),
    unwound=volumes.detached,
    superseded=volumes.detached,
    outside=True,
)

VOLUME_DETACH = Kind(
    name="volume_detach",
    verb="detach a volume from",
    event="volume_detach",
    starts_from=SETTLED,
    during=None,
    steps=(Step("unplug", volumes.unplug, undo=volumes.plug),),
    done=volumes.detached,
    outside=True,
)

# As the deletion of backups: its row is gone already, so it is tried until it succeeds.
VOLUME_DELETE = Kind(
    name="volume_delete",
    verb="delete",
    event="volume_delete",
    during=None,
    goal=Power.ABSENT,
    steps=(Step("delete", volumes.unmake, undo=volumes.unmake),),
)

register(each for each in tuple(globals().values()) if isinstance(each, Kind))
