"""A job of each kind that is ready to run, for tests that fail at each call of the hypervisor."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import transaction

from compute.models import Job
from tests.compute.memory_driver import CountingDriver, MemoryDriver
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import staged
from tests.world import World


class Stage:
    """A kind's job that is ready to run any number of times. Each run is rolled back."""

    def __init__(self, kind: str, world: World) -> None:
        self.driver = MemoryDriver()
        self.job = staged(kind, world, self.driver)
        self.first = len(self.driver.calls)
        self.names: list[str] = []
        uploaded = Path(settings.UPLOADS_DIR).glob("*.gz")
        self.uploads = {path: path.read_bytes() for path in uploaded}

    @contextmanager
    def again(self) -> Iterator[tuple[Job, MemoryDriver]]:
        """Yield the job and its driver in their first state."""
        for path, content in self.uploads.items():
            path.write_bytes(content)
        with transaction.atomic():
            yield Job.objects.get(pk=self.job.pk), copy.deepcopy(self.driver)
            transaction.set_rollback(True)

    def calls(self) -> range:
        """Return the numbers of the calls that the job makes to the hypervisor.

        A run without a fault counts them. Calls that only ask count too, also those at the job's end: a job
        must go on after any.
        """
        with self.again() as (job, driver):
            work(job, CountingDriver(driver))
            made = range(self.first, len(driver.calls))
            self.names = driver.calls
        assert made, (
            f"{job.kind} calls the hypervisor nowhere, so nothing can be struck here: test its failures on its own"
        )
        return made

    def different_calls(self) -> list[int]:
        """Return the number of the first call of each name. An outage that outlasts a call affects later calls
        equally."""
        calls = self.calls()
        first = {self.names[call]: call for call in reversed(calls)}
        return sorted(first.values())
