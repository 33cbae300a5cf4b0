"""The steps of moves: machine off, to the other host, and on again.

The new host's capacity and the new region's addresses were reserved when the job was enqueued, so that they cannot
run out on the way. The old ones are released when the machine has arrived.
"""

from compute.drivers.base import MachineSpec, Power, Refused
from compute.jobs.data import MoveData
from compute.jobs.definition import Fail, Outcome
from compute.models import InstanceType
from compute.services.hosts import move_records
from compute.services.networking.addresses import mac_address
from compute.worker.run import Run, until
from compute.worker.steps.basic import start

BOOT = "boot"
"""The name of the step after the arrival."""


def restart(run: Run[MoveData]) -> Outcome:
    """Boot the instance that was shut down for the move. If it cannot boot any more, it stays off."""
    try:
        return start(run)
    except (Fail, Refused):
        return None


def apply_new_type(run: Run[MoveData]) -> None:
    """Give the machine the memory and cores of the new type, for its next boot. Raises `Fail` if the machine is
    gone."""
    if not _define(run, run.data.type_id):
        raise Fail("The machine does not exist.")


def apply_previous_type(run: Run[MoveData]) -> None:
    """Give the machine the memory and cores of its previous type, if the machine is still there."""
    _define(run, run.data.previous_type_id)


def move(run: Run[MoveData]) -> Outcome:
    """Move the machine with its disks to the new host."""
    return _receive(run, run.data.host_id, run.data.previous_host_id)


def move_back(run: Run[MoveData]) -> Outcome:
    """Move the machine back, so that only the old host has it, even if it never left or is still on its way.

    Nothing is done if neither host has the machine.
    """
    try:
        return _receive(run, run.data.previous_host_id, run.data.host_id)
    except Refused:
        hosts = (run.data.previous_host_id, run.data.host_id)
        if any(run.driver_at(host_id).power(run.machine) is not Power.ABSENT for host_id in hosts):
            raise
        return None


def _receive(run: Run[MoveData], host_id: int, source_id: int) -> Outcome:
    return until(run.driver_at(host_id).receive(run.machine, run.driver_at(source_id)))


def record_arrival(run: Run[MoveData]) -> None:
    """Record that the instance is on its new host."""
    move_records.arrive(run.instance, run.data)


def restore_placement(run: Run[MoveData]) -> None:
    """Record that the instance stays on its old host."""
    move_records.stay(run.instance, run.data)


def release_target(run: Run[MoveData]) -> None:
    """Release the reservations of a move that is not undone: the deletion that waits may take long.

    An instance that has arrived stays on its new host, and keeps its reservation there.
    """
    if run.job.step != BOOT:
        restore_placement(run)


def _define(run: Run[MoveData], type_id: str) -> bool:
    """Define the machine anew on the old host. False if the machine is missing, since that would define an empty
    one."""
    plan, driver = InstanceType.objects.get(pk=type_id), run.driver_at(run.data.previous_host_id)
    if driver.power(run.machine) is Power.ABSENT:
        return False
    driver.define(
        MachineSpec(
            name=run.machine,
            memory=plan.memory,
            vcpus=plan.vcpus,
            mac=mac_address(run.instance.pk),
        )
    )
    return True
