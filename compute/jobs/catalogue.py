"""All kinds of job: the state machine of an instance on one screen.

The status after a job is what the driver says is true: ``running`` when the machine is on, else ``offline``.
"""

from compute.drivers.base import Power
from compute.jobs import steps
from compute.jobs.kinds import Kind, Step, nothing, registry
from compute.models.instances import Instance

S = Instance.Status

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

KINDS = registry((PROVISION, BOOT, REBOOT, SHUTDOWN, DELETE))
