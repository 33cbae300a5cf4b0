"""All kinds of job: the state machine of an instance on one screen.

The status after a job is the one that the driver reports: ``running`` when the machine is on, else ``offline``.
"""

from dataclasses import replace
from datetime import timedelta

from compute.drivers.base import Power
from compute.jobs import definition
from compute.jobs.data import (
    BackupData,
    BackupProvisionData,
    BackupsDeleteData,
    BootData,
    CloneData,
    DiskData,
    DiskDeleteData,
    DiskResizeData,
    HostObjectData,
    ImageData,
    ImagizeData,
    ImportData,
    JobData,
    MoveData,
    ProvisionData,
    RebuildData,
    RescueData,
    RestoreData,
    VolumeAttachData,
    VolumeCreateData,
    VolumeData,
    VolumeDeleteData,
    VolumeDetachData,
    VolumeResizeData,
)
from compute.jobs.definition import D, Step, nothing, register
from compute.models.instances import Instance
from compute.worker import steps
from compute.worker.run import Run
from compute.worker.steps import backups, clones, disks, drift, images, moves, rebuild, rescue, resize, volumes

Kind = definition.Kind[Run[D], D]
Steps = tuple[Step[Run[D], D], ...]

S = Instance.Status
SETTLED = frozenset(Instance.SETTLED)
COPY_DEADLINE = timedelta(hours=12)
"""The deadline of kinds that copy whole disks."""

PROVISION = Kind[ProvisionData](
    name="provision",
    verb="provision",
    event="compute_create",
    during=S.PROVISIONING,
    data=ProvisionData,
    steps=(
        Step("define", steps.define, undo=steps.undefine),
        Step("disks", steps.create_disks, undo=steps.delete_disks, persist=steps.mark_disk_ready),
        Step(
            "boot", steps.start, undo=None,
            event="compute_boot", when=lambda data: data.boot,
        ),
    ),
    on_rollback=steps.remove_instance,
)  # fmt: skip

BOOT = Kind[BootData](
    name="boot",
    verb="boot",
    event="compute_boot",
    interactive=True,
    starts_from=frozenset({S.OFFLINE, S.STOPPED}),
    during=S.BOOTING,
    data=BootData,
    steps=(Step("start", steps.start, undo=None),),
    was_on=lambda run: not run.job.created_by,  # the platform boots only instances that were on
)

REBOOT = Kind[BootData](
    name="reboot",
    verb="reboot",
    event="compute_reboot",
    interactive=True,
    starts_from=SETTLED,
    during=S.REBOOTING,
    data=BootData,
    steps=(
        Step("stop", steps.stop, undo=nothing),
        Step("start", steps.start, undo=None),
    ),
    was_on=lambda run: run.data.off_status is None,
)

RESCUE = Kind[RescueData](
    name="rescue",
    verb="rescue",
    event="compute_reboot",
    interactive=True,
    starts_from=SETTLED,
    during=S.REBOOTING,
    data=RescueData,
    steps=(
        Step("stop", steps.stop, undo=nothing, when=lambda data: data.running),
        Step("start", steps.start, undo=nothing),
    ),
    on_done=rescue.delete_earlier_profiles,
    on_rollback=rescue.delete_profile,
    was_on=lambda run: run.data.running,
)

SHUTDOWN = Kind[JobData](
    name="shutdown",
    verb="shut down",
    event="compute_shutdown",
    interactive=True,
    starts_from=frozenset({S.RUNNING}),
    during=S.SHUTTING_DOWN,
    data=JobData,
    steps=(Step("stop", steps.stop, undo=None),),
)

# From the request on, another instance may take the label, so the instance cannot be restored. So a deletion that
# fails is not given up: it is retried, as an undo, until the machine is gone. Meanwhile staff see the error.
DELETE = Kind[JobData](
    name="delete",
    verb="delete",
    event="compute_delete",
    interactive=True,
    starts_from=frozenset(set(S) - {S.CLONING, S.RESTORING, S.DELETING}),
    supersedes=True,
    during=S.DELETING,
    goal=Power.ABSENT,
    data=JobData,
    steps=(Step("undefine", steps.undefine, undo=steps.undefine),),
    on_done=steps.remove_instance,
)

CLONE = Kind[CloneData](
    name="clone",
    verb="clone",
    event="compute_clone",
    during=S.PROVISIONING,
    data=CloneData,
    steps=(
        Step("define", steps.define, undo=steps.undefine),
        Step("disks", clones.copy_disks, undo=clones.delete_copies, persist=steps.mark_disk_ready),
    ),
    on_done=clones.release_source,
    on_rollback=clones.remove_clone,
    on_superseded=clones.release_source,
    deadline=COPY_DEADLINE,
)

CLONE_INTO = Kind[CloneData](
    name="clone_into",
    verb="clone into",
    event="compute_clone",
    starts_from=SETTLED,
    during=S.PROVISIONING,
    data=CloneData,
    steps=(Step("disks", clones.copy_disks, undo=clones.delete_copies, persist=steps.mark_disk_ready),),
    on_done=clones.release_source,
    on_rollback=clones.remove_copied_rows,
    on_superseded=clones.release_source,
    deadline=COPY_DEADLINE,
)

MOVING: Steps[MoveData] = (
    Step("stop", steps.stop, undo=moves.restart, when=lambda data: data.running),
    Step(
        "reshape", moves.apply_new_type, undo=moves.apply_previous_type,
        when=lambda data: data.type_id != data.previous_type_id,
    ),
    Step("move", moves.move, undo=moves.move_back, persist=moves.record_arrival),
    Step(
        moves.BOOT, steps.start, undo=None,
        event="compute_boot", when=lambda data: data.running,
    ),
)  # fmt: skip

MIGRATE = Kind[MoveData](
    name="migrate",
    verb="migrate",
    event="compute_migrate",
    starts_from=SETTLED,
    during=S.MIGRATING,
    data=MoveData,
    steps=MOVING,
    on_rollback=moves.restore_placement,
    on_superseded=moves.release_target,
    was_on=lambda run: run.data.running,
    deadline=COPY_DEADLINE,
)

MIGRATE_REGION = replace(MIGRATE, name="migrate_region", event="compute_migrate_datacenter")

# If another job works on the disk, this one waits without an instance, and then becomes the instance's job.
IMAGIZE = Kind[ImagizeData](
    name="imagize",
    verb="make an image of",
    event="disk_imagize",
    starts_from=SETTLED,
    during=None,
    data=ImagizeData,
    steps=(
        Step(
            "wait", images.await_instance, undo=nothing,
            when=lambda data: data.instance_id is not None,
        ),
        Step("save", images.save_disk, undo=images.delete_archive, persist=images.mark_available),
    ),
    on_done=images.release_disk,
    on_rollback=images.remove_image_of_disk,
    on_superseded=images.remove_image_of_disk,
    has_external_effects=True,
    deadline=COPY_DEADLINE,
)  # fmt: skip

IMPORT_IMAGE = Kind[ImportData](
    name="import_image",
    verb="import",
    event="image_upload",
    during=None,
    data=ImportData,
    steps=(
        Step(
            "check", images.check_upload, undo=images.delete_file, persist=images.record_size,
            when=lambda data: data.size is None,
        ),
        Step("load", images.import_upload, undo=images.delete_import),
        Step(
            "delete_upload", images.delete_upload, undo=images.delete_file, persist=images.mark_available,
            former_name="tidy",
        ),
    ),
    on_rollback=images.remove_image_row,
    has_external_effects=True,
    deadline=COPY_DEADLINE,
)  # fmt: skip

DELETE_IMAGE = Kind[ImageData](
    name="delete_image",
    verb="delete",
    event="image_delete",
    during=None,
    data=ImageData,
    steps=(Step("delete", images.delete_when_made, undo=images.inspect_archive),),
    on_done=images.remove_image_row,
    on_rollback=images.keep_image,
)

BACKING_UP: Steps[BackupData] = (
    Step("begin", nothing, undo=nothing, persist=backups.mark_running),
    Step("save", backups.save_disks, undo=backups.delete_saved_disks, persist=backups.mark_disk_saved),
)

SNAPSHOT = Kind[BackupData](
    name="snapshot",
    verb="back up",
    event="compute_snapshot",
    starts_from=SETTLED,
    during=None,
    data=BackupData,
    steps=BACKING_UP,
    on_done=backups.complete_backup,
    on_rollback=backups.fail_backup,
    on_superseded=backups.fail_backup,
    has_external_effects=True,
    deadline=COPY_DEADLINE,
)

BACKUP = replace(SNAPSHOT, name="backup")

# The job has no instance, so its goal, an absent machine, is always reached. So a deletion that fails is not given
# up: it is retried, as an undo, until it succeeds. Meanwhile staff see the error.
DELETE_BACKUPS = Kind[BackupsDeleteData](
    name="delete_backups",
    verb="delete",
    event="backups_cancel",
    during=None,
    goal=Power.ABSENT,
    data=BackupsDeleteData,
    steps=(Step("delete", backups.delete_archives, undo=backups.delete_archives),),
    deadline=COPY_DEADLINE,
)

RESTORE = Kind[RestoreData](
    name="restore",
    verb="restore",
    event="backups_restore",
    starts_from=SETTLED,
    during=S.RESTORING,
    data=RestoreData,
    steps=(
        Step("stop", steps.stop, undo=backups.reboot_if_intact, when=lambda data: data.overwrite),
        Step(
            "clear", backups.delete_old_disks, undo=nothing, persist=backups.replace_deleted_disk,
            when=lambda data: data.overwrite,
        ),
        Step("disks", backups.restore_disks, undo=backups.delete_restored_disks, persist=steps.mark_disk_ready),
    ),
    on_rollback=backups.remove_restored_rows,
    deadline=COPY_DEADLINE,
)  # fmt: skip

PROVISION_FROM_BACKUP = Kind[BackupProvisionData](
    name="provision_from_backup",
    verb="provision",
    event="compute_create",
    during=S.RESTORING,
    data=BackupProvisionData,
    steps=(
        Step("define", steps.define, undo=steps.undefine),
        Step("disks", backups.restore_disks, undo=backups.delete_restored_disks, persist=steps.mark_disk_ready),
        Step(
            "boot", steps.start, undo=None,
            event="compute_boot", when=lambda data: data.boot,
        ),
    ),
    on_rollback=steps.remove_instance,
    deadline=COPY_DEADLINE,
)  # fmt: skip

RESIZING: Steps[MoveData] = (
    Step("stop", steps.stop, undo=moves.restart, when=lambda data: data.running),
    Step(
        "disk", resize.resize_disk, undo=resize.restore_disk_size,
        when=lambda data: data.disk_id is not None,
    ),
    Step("reshape", moves.apply_new_type, undo=moves.apply_previous_type),
    Step("move", moves.move, undo=moves.move_back, persist=moves.record_arrival),
    Step(
        moves.BOOT, steps.start, undo=None,
        event="compute_boot", when=lambda data: data.running,
    ),
)  # fmt: skip

RESIZE = Kind[MoveData](
    name="resize",
    verb="resize",
    event="compute_resize",
    starts_from=SETTLED,
    during=S.MIGRATING,
    data=MoveData,
    steps=RESIZING,
    on_rollback=moves.restore_placement,
    on_superseded=moves.release_target,
    was_on=lambda run: run.data.running,
    deadline=COPY_DEADLINE,
)

MUTATE = replace(RESIZE, name="mutate", verb="upgrade", event="compute_mutate")

REBUILD = Kind[RebuildData](
    name="rebuild",
    verb="rebuild",
    event="compute_rebuild",
    starts_from=SETTLED,
    during=S.REBUILDING,
    data=RebuildData,
    steps=(
        Step("stop", steps.stop, undo=rebuild.reboot_if_intact, when=lambda data: data.running),
        Step("wipe", rebuild.delete_old_disks, undo=rebuild.inspect_disks, persist=rebuild.replace_deleted_disk),
        Step("disks", steps.create_disks, undo=steps.delete_disks, persist=steps.mark_disk_ready),
        Step(
            "boot", steps.start, undo=None,
            event="compute_boot", when=lambda data: data.boot,
        ),
    ),
    on_rollback=rebuild.restore_old_rows,
    on_superseded=rebuild.restore_old_rows,
    has_external_effects=True,
    was_on=lambda run: run.data.running,
)  # fmt: skip

DISK_CREATE = Kind[DiskData](
    name="disk_create",
    verb="create a disk on",
    event="disk_create",
    starts_from=SETTLED,
    during=None,
    data=DiskData,
    steps=(Step("make", disks.create_disk, undo=disks.delete_disk),),
    on_done=disks.mark_ready,
    on_rollback=disks.remove_disk,
    on_superseded=disks.remove_disk,
    has_external_effects=True,
)

DISK_CLONE = replace(
    DISK_CREATE, name="disk_clone", verb="clone a disk of", event="disk_duplicate", deadline=COPY_DEADLINE
)

DISK_RESIZE = Kind[DiskResizeData](
    name="disk_resize",
    verb="resize a disk of",
    event="disk_resize",
    starts_from=SETTLED,
    during=None,
    data=DiskResizeData,
    steps=(Step("resize", resize.resize_disk, undo=resize.restore_disk_size),),
    on_done=disks.mark_resized,
    on_rollback=disks.mark_ready,
    on_superseded=disks.mark_ready,
    has_external_effects=True,
    deadline=COPY_DEADLINE,
)

DISK_DELETE = Kind[DiskDeleteData](
    name="disk_delete",
    verb="delete a disk of",
    event="disk_delete",
    interactive=True,
    starts_from=SETTLED,
    during=None,
    data=DiskDeleteData,
    steps=(Step("delete", disks.delete_disk, undo=disks.inspect_disks),),
    on_done=disks.remove_disk,
    on_rollback=disks.restore_status,
    on_superseded=disks.restore_status,
    has_external_effects=True,
)

PASSWORD_RESET = Kind[DiskData](
    name="password_reset",
    verb="reset a password of",
    event="password_reset",
    interactive=True,
    starts_from=frozenset({S.OFFLINE, S.STOPPED}),
    during=None,
    data=DiskData,
    steps=(Step("set", disks.set_password, undo=nothing),),
    on_done=disks.mark_ready,
    on_rollback=disks.mark_ready,
    on_superseded=disks.mark_ready,
    has_external_effects=True,
)

HOST_STOP = Kind[JobData](
    name="host_stop",
    verb="stop",
    event="host_reboot",
    interactive=True,
    starts_from=frozenset({S.RUNNING}),
    during=S.SHUTTING_DOWN,
    off=S.STOPPED,
    data=JobData,
    steps=(Step("stop", steps.stop, undo=None),),
)

# Repairs of a host by the reconciler or staff. They belong to no account, so they have no event. Nothing is undone:
# objects that were set aside stay on the host, and the next comparison finds them.
SET_ASIDE_HOST_OBJECT = Kind[HostObjectData](
    name="set_aside_host_object",
    verb="set aside an object of",
    event="host_reboot",
    during=None,
    data=HostObjectData,
    steps=(Step("set_aside", drift.set_aside, undo=None),),
)

DELETE_HOST_OBJECT = Kind[HostObjectData](
    name="delete_host_object",
    verb="delete an object of",
    event="host_reboot",
    during=None,
    data=HostObjectData,
    steps=(Step("delete", drift.delete, undo=None),),
)

# The previous release enqueues jobs of this one kind in place of the two kinds above, until its last process is
# restarted. The next release drops this kind.
TIDY = replace(
    DELETE_HOST_OBJECT,
    name="tidy",
    steps=(Step("tidy", drift.set_aside_or_delete, undo=None),),
)

REDEFINE = Kind[JobData](
    name="redefine",
    verb="define again",
    event="compute_boot",
    interactive=True,
    starts_from=SETTLED,
    during=S.BOOTING,
    data=JobData,
    steps=(
        Step("define", steps.define, undo=None),
        Step("start", steps.start, undo=None, when=drift.is_booted),
    ),
    was_on=lambda run: drift.is_booted(run.data),
)

# A job without an instance, even if the volume is made for one: the instance may be busy, or wait to boot with the
# volume. When the instance is idle, a job of the instance attaches the volume. Jobs of an earlier release belong to
# the instance, and plug the volume in.
VOLUME_CREATE = Kind[VolumeCreateData](
    name="volume_create",
    verb="make a volume for",
    event="volume_create",
    during=None,
    data=VolumeCreateData,
    steps=(
        Step("make", volumes.create_volume, undo=volumes.delete_volume, persist=volumes.mark_active),
        Step("plug", volumes.plug, undo=volumes.unplug, when=lambda data: data.attach),
        Step(
            "hand_over", volumes.await_idle_instance, undo=None,
            when=lambda data: data.instance_id is not None,
        ),
    ),
    on_done=volumes.begin_attachment,
    on_rollback=volumes.remove_volume,
    on_superseded=volumes.remove_volume,
    has_external_effects=True,
    outlives=lambda data: replace(data, attach=False),
    deadline=COPY_DEADLINE,
)  # fmt: skip

VOLUME_CLONE = Kind[VolumeData](
    name="volume_clone",
    verb="clone",
    event="volume_clone",
    during=None,
    data=VolumeData,
    steps=(Step("make", volumes.create_volume, undo=volumes.delete_volume),),
    on_done=volumes.mark_active,
    on_rollback=volumes.remove_volume,
    has_external_effects=True,
    deadline=COPY_DEADLINE,
)

# A job without an instance, even if the volume is attached: it grows in use, whatever its instance does meanwhile.
VOLUME_RESIZE = Kind[VolumeResizeData](
    name="volume_resize",
    verb="resize",
    event="volume_resize",
    during=None,
    data=VolumeResizeData,
    steps=(Step("resize", volumes.grow_volume, undo=volumes.inspect_volume),),
    on_done=volumes.mark_resized,
    on_rollback=volumes.mark_resized,
    has_external_effects=True,
)

VOLUME_ATTACH = Kind[VolumeAttachData](
    name="volume_attach",
    verb="attach a volume to",
    event="volume_attach",
    interactive=True,
    starts_from=SETTLED,
    during=None,
    data=VolumeAttachData,
    steps=(
        Step(
            "turn", volumes.await_turn, undo=nothing,
            when=lambda data: data.waits,
        ),
        Step("plug", volumes.plug, undo=volumes.unplug),
    ),
    on_rollback=volumes.mark_detached,
    on_superseded=volumes.mark_detached,
    has_external_effects=True,
    deadline=COPY_DEADLINE,
)  # fmt: skip

# If the instance is being deleted, the job runs without it: the volume is free as soon as it is unplugged.
VOLUME_DETACH = Kind[VolumeDetachData](
    name="volume_detach",
    verb="detach a volume from",
    event="volume_detach",
    interactive=True,
    starts_from=SETTLED,
    during=None,
    data=VolumeDetachData,
    steps=(Step("unplug", volumes.detach_volume, undo=volumes.plug_again),),
    on_done=volumes.mark_released,
    on_rollback=volumes.mark_attached_again,
    on_superseded=volumes.mark_attached_again,
    has_external_effects=True,
)

# As for the deletion of backups: the volume's row is gone already, so the job is retried until it succeeds.
VOLUME_DELETE = Kind[VolumeDeleteData](
    name="volume_delete",
    verb="delete",
    event="volume_delete",
    during=None,
    goal=Power.ABSENT,
    data=VolumeDeleteData,
    steps=(Step("delete", volumes.delete_when_free, undo=volumes.delete_when_free),),
    deadline=COPY_DEADLINE,
)

register(each for each in tuple(globals().values()) if isinstance(each, definition.Kind))
