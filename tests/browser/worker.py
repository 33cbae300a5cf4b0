"""The worker of these tests: the test runs the jobs, on the simulated hypervisor that the server has too."""

from compute.drivers.simulated.driver import SimulatedDriver
from compute.models import Host, Job
from compute.worker.drivers import address_of, configured
from tests.compute.run_jobs import work


class Worker:
    """Runs jobs when the test says so, so that a page is seen before and after."""

    def run_jobs(self) -> None:
        """Run each job to its end, and the jobs that it begins."""
        while job := Job.objects.filter(finished_at=None).order_by("pk").first():
            assert work(job, configured).state == Job.State.DONE, job.error

    def close(self) -> None:
        """Close the drivers, because open connections would block the deletion of the database."""
        for host in Host.objects.all():
            driver = configured.at(address_of(host))
            assert isinstance(driver, SimulatedDriver)
            driver.close()
