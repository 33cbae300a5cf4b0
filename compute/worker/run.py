"""The argument of a step's functions and of a kind's callbacks."""

from functools import cached_property
from typing import Any, Generic, TypeVar

from cryptography.fernet import InvalidToken

from compute.drivers.base import Address, Driver, Power, Progress
from compute.jobs.data import JobData, UnreadableData
from compute.jobs.definition import Wait
from compute.machine_names import machine_name
from compute.models import Host, Instance, Job
from compute.worker.drivers import Drivers, HostAway, InstanceGone, address_of, anywhere, host_in, host_of_instance
from config.encryption import decrypt_json

D = TypeVar("D", bound=JobData, covariant=True)


class Run(Generic[D]):
    """One run of one step: the job as it was claimed, its data, its instance, its secrets and the drivers.

    The instance is read once for each run of a job. A step never writes it: steps write through `persist`.
    """

    def __init__(self, job: Job, data: D, drivers: Drivers):
        self.job = job
        self.data = data
        self.drivers = drivers
        self.finished: int | None = None
        """The key of the disk that the current step finished, for its `persist`; in a backup the position."""
        self.size: int | None = None
        """The size that a step looked up, for a later write: of an archive in MB, of a volume in GB."""
        self.present: frozenset[str] = frozenset()
        """The names of the disks that the driver still had when an undo asked, for the last settle."""
        self.is_lost = False
        """Whether an undo found that the machine cannot have the volume again, for the last settle."""
        self.source_power = Power.ABSENT
        """The power of a clone's source when `power` last asked the driver."""

    @cached_property
    def instance(self) -> Instance:
        """The instance with its type and host. Raises `InstanceGone` if its row was deleted while its job ran."""
        instances = Instance.objects.select_related("type", "host")
        found = instances.filter(pk=self.job.instance_id).first()  # type: ignore[misc] # the stubs know no None in lookups
        if found is None:
            raise InstanceGone("The compute was deleted.")
        return found

    @property
    def driver(self) -> Driver:
        """The driver of the host that the instance is on. Raises `InstanceGone`."""
        if self.job.host is not None:
            *address, away = self.job.host
            return self._at(Address(*address), away)
        if self.job.instance_id is None:
            raise InstanceGone("The compute was deleted.")
        return self.driver_of(self.job.instance_id)

    def driver_of(self, instance_id: int) -> Driver:
        """The driver of the host that another instance is on. Raises `InstanceGone`."""
        return self._on(host_of_instance(instance_id))

    def driver_at(self, host_id: int) -> Driver:
        """The driver of the host with this key."""
        return self._on(Host.objects.get(pk=host_id))

    def driver_in(self, region_id: str) -> Driver:
        """Return the driver of a host of the region, for its volumes. Raises `DriverError` if the region has no
        host."""
        return self._on(host_in(region_id))

    def _on(self, host: Host) -> Driver:
        return self._at(address_of(host), host.unreachable_since is not None)

    def _at(self, address: Address, away: bool) -> Driver:
        """Return the driver at this address. Raises `HostAway` for a host that is recorded as not answering.

        Every step calls this function, so no job calls such a host. Only the watchdog does.
        """
        if away:
            raise HostAway(address.name)
        return self.drivers.at(address)

    def archives(self, driver: str) -> Driver:
        """The driver with this name, for its archives alone."""
        return self.drivers.at(anywhere(driver))

    @property
    def machine(self) -> str:
        """The name of the instance's machine, which is known before the machine is made. Raises `InstanceGone`."""
        if self.job.instance_id is None:
            raise InstanceGone("The compute was deleted.")
        return machine_name(self.job.instance_id)

    def power(self) -> Power:
        """Return the power of the instance's machine, as the driver reports it; `ABSENT` for a job on no instance.

        Also asks for the power of a clone's source, since the last settle writes the status of both.
        """
        self.ask_source()
        return Power.ABSENT if self.job.instance_id is None else self.driver.power(self.machine)

    def ask_source(self) -> None:
        """Set `source_power`, for a job that has a source."""
        if self.job.source_id is not None:
            source = self.driver_of(self.job.source_id)
            self.source_power = source.power(machine_name(self.job.source_id))

    def secrets(self) -> dict[str, Any]:
        """The job's secrets, decrypted only here on their way to the driver.

        Raises `UnreadableData` if this worker lacks their key, for example if it was not restarted with a new key.
        """
        try:
            return decrypt_json(self.job.encrypted) if self.job.encrypted else {}
        except InvalidToken as error:
            raise UnreadableData("This worker has no key for the secrets of the job.") from error


def until(progress: Progress) -> Wait | None:
    """Turn a driver's progress into a step's outcome: wait for it, or go on."""
    return (
        None
        if progress.done
        else Wait(progress.wait, progress.percent, rate=progress.rate, remaining=progress.remaining)
    )
