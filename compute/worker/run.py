"""What a step gets to work with."""

from functools import cached_property
from typing import Any, Generic, TypeVar

from compute.drivers.base import Driver, Power, Progress
from compute.jobs.data import JobData
from compute.jobs.definition import Wait
from compute.machine_names import machine_name
from compute.models import Instance, Job
from config.encryption import decrypt_json

D = TypeVar("D", bound=JobData, covariant=True)


class Run(Generic[D]):
    """One run of one step: the job as it was claimed, what it carries, its instance, its secrets and the driver.

    The instance is read once for each run of a job and never written by a step; steps write through `persist`.
    """

    def __init__(self, job: Job, data: D, driver: Driver):
        self.job = job
        self.data = data
        self.driver = driver
        self.finished: int | None = None
        """The disk that the step at work has finished, for its `persist`; of a backup its position."""
        self.size: int | None = None
        """How many MB the archive has that the step at work looked at, for its `persist`."""
        self.present: frozenset[str] = frozenset()
        """The driver's names of the disks that an undo has seen there, for what is written at the end."""
        self.source_power = Power.ABSENT
        """Whether the instance that a clone copies is on, when `power` was last asked."""

    @cached_property
    def instance(self) -> Instance:
        """The instance with its type and host; a live job's instance always exists."""
        instances = Instance.objects.select_related("type", "host")
        return instances.get(pk=self.job.instance_id)  # type: ignore[misc] # the stubs know no None in lookups

    @property
    def machine(self) -> str:
        """The driver's name for the instance, known before anything was made."""
        if self.job.instance_id is None:
            raise RuntimeError("a job on no instance has no machine")
        return machine_name(self.job.instance_id)

    def power(self) -> Power:
        """Whether the instance's machine is on, as the driver says; absent for a job on no instance.

        Asks about a clone's source along with it, since both are written in the last settle.
        """
        if self.job.source_id is not None:
            self.source_power = self.driver.power(machine_name(self.job.source_id))
        return Power.ABSENT if self.job.instance_id is None else self.driver.power(self.machine)

    def secrets(self) -> dict[str, Any]:
        """What was encrypted for this job, readable only here on its way to the driver."""
        return decrypt_json(self.job.encrypted) if self.job.encrypted else {}


def until(progress: Progress) -> Wait | None:
    """Turn a driver's progress into a step's outcome: wait for it, or go on."""
    return (
        None
        if progress.done
        else Wait(progress.wait, progress.percent, rate=progress.rate, remaining=progress.remaining)
    )
