"""Helpers of crash tests: QEMU hosts with a guest, a job, workers that are killed, and checks of what remains."""

import json
import math
import os
import re
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connections, transaction
from django.db.models import Sum
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.models import Event
from compute.drivers.base import Address, Options, Power
from compute.drivers.qemu.agent.machines import machine_dirs
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.driver import QemuDriver
from compute.drivers.qemu.transport import Transport
from compute.jobs.queue import enqueue
from compute.machine_names import disk_name, machine_name
from compute.models import Backup, Drift, Host, Instance, Job
from compute.worker import engine, reconciler
from compute.worker.drivers import address_of
from config.processes import notify
from tests.compute.drivers.qemu import striking
from tests.compute.drivers.qemu.disk_files import is_clean, seen
from tests.compute.drivers.qemu.ssh_hosts import SshHost
from tests.compute.watching import watch

TIMEOUT = 300.0
LIFETIME = 300.0
"""Seconds after which a job that has not ended counts as stuck."""

Reached = Callable[[str, str, bool], None]
"""A callback for each verb: the host's name, the verb, and whether it has been answered."""


class Watched:
    """A transport that reports each verb before and after the call."""

    def __init__(self, transport: Transport, host: str, reached: Reached):
        self._transport, self._host, self._reached = transport, host, reached

    def call(self, verb: str, **values: Any) -> Any:
        self._reached(self._host, verb, False)
        result = self._transport.call(verb, **values)
        self._reached(self._host, verb, True)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Hosts:
    """The drivers of hosts, by their rows. Hosts in `servers` are reached by ssh."""

    def __init__(self, folder: Path, servers: dict[str, SshHost] | None = None, identity: str = ""):
        self.folder, self.servers, self.identity = folder, servers or {}, identity
        self.reached: Reached = lambda host, verb, answered: None

    def at(self, address: Address) -> QemuDriver:
        options = Options(timeout=TIMEOUT, archives=str(self.folder / "archives"), identity=self.identity)
        driver = QemuDriver(address, options)
        driver.agent = Watched(driver.agent, address.name, lambda *arguments: self.reached(*arguments))
        return driver

    def store(self, host: Host) -> Store:
        server = self.servers.get(host.label)
        return Store(Path(host.location), Path(host.shared)) if server is None else server.store

    def strike(self, host: Host, verb: str, moment: str, whole: bool) -> None:
        """Make a host's agent kill itself once, by `striking`."""
        strike = {"verb": verb, "moment": moment, "whole": whole}
        (self.store(host).root / striking.FILE).write_text(json.dumps(strike))

    def has_struck(self) -> bool:
        return not any(self.folder.rglob(striking.FILE))

    def bring_back(self) -> None:
        """Restart the hosts that have died."""
        for server in self.servers.values():
            assert server.process is not None
            if server.process.poll() is not None:
                server.kill()
                server.start()

    def end(self) -> None:
        for server in self.servers.values():
            server.end()
        for directory in self.folder.rglob("machines/*"):
            machine_dirs.cut(directory, timeout=120)


# --- workers ------------------------------------------------------------------------------------------------------


def work(job: Job, hosts: Hosts) -> None:
    """Run workers and the clock until the job has ended, as if waits, backoffs and leases took no time."""
    deadline = time.monotonic() + LIFETIME
    while job.finished_at is None:
        assert time.monotonic() < deadline, f"{job} does not end: {job.state} at {job.step}, {job.error}"
        engine.run(job.pk, hosts)
        hosts.bring_back()
        if Host.objects.filter(unreachable_since__isnull=False).exists():
            watch(hosts)
        _let_time_pass(job)
        job.refresh_from_db()


def work_until_killed(job: Job, hosts: Hosts) -> None:
    """Run the job in a worker process of its own, which will be killed by SIGKILL."""
    connections.close_all()
    pid = os.fork()
    if not pid:
        try:
            notify._unreachable_until = math.inf  # the parent owns the connection to the broker
            work(job, hosts)
        except BaseException:  # noqa: BLE001 - a child that goes on would be a second pytest
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"the worker was to be killed, and ended by itself: {status}"
    assert os.WTERMSIG(status) == signal.SIGKILL


def take_over(job: Job, hosts: Hosts) -> None:
    """Finish the job in another worker, after the dead worker's lease has expired."""
    job.refresh_from_db()
    left = (job.step, job.state, job.fence, job.attempt)
    engine.run(job.pk, hosts)
    job.refresh_from_db()
    assert (job.step, job.state, job.fence, job.attempt) == left, "the lease of the dead worker still holds"
    _let_time_pass(job)
    work(job, hosts)


def stop(instance: Instance, hosts: Hosts) -> None:
    """Shut the guest down."""
    user = Actor(instance.account_id, username="owner")
    with transaction.atomic():
        job = enqueue("shutdown", Instance.objects.get(pk=instance.pk), user)
    work(job, hosts)
    assert job.state == "done"


def boot_again(instance: Instance, hosts: Hosts) -> None:
    """Run the watchdog, which finds that the machine lost its power, and boots it."""
    Instance.objects.filter(pk=instance.pk).update(updated=Now() - timedelta(minutes=1))
    watch(hosts)
    work(Job.objects.get(finished_at=None), hosts)


def _let_time_pass(job: Job) -> None:
    Job.objects.filter(pk=job.pk, finished_at=None).update(run_at=Now(), lease_until=Now() - timedelta(seconds=1))


class Strike:
    """A hook that kills this worker at a verb of a step, before or after the call, at its nth occurrence."""

    def __init__(self, job: Job, step: str, verb: str, answered: bool, nth: int = 1):
        self.job, self.point, self.left = job, (step, verb, answered), nth

    def __call__(self, host: str, verb: str, answered: bool) -> None:
        if (verb, answered) != self.point[1:]:
            return
        if Job.objects.values_list("step", flat=True).get(pk=self.job.pk) != self.point[0]:
            return
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


class Record:
    """A hook that records the verbs of each step, in the order of their first calls."""

    def __init__(self, job: Job):
        self.job = job
        self.found: dict[tuple[str, str], None] = {}

    def __call__(self, host: str, verb: str, answered: bool) -> None:
        if not answered:
            step = Job.objects.values_list("step", flat=True).get(pk=self.job.pk)
            self.found[step, verb] = None


FOLDERS = ("machines", "incoming", "outgoing", "tasks", "aside")
REMAINING_FILES = ("lock", "process", "log", "request", "progress", "done")
"""Files of a finished task that remain until its disk is deleted."""


# --- what is left -------------------------------------------------------------------------------------------------


def traces(hosts: Hosts) -> set[str]:
    """Return the files of machines, volumes and archives of all hosts, with each number replaced by N."""
    folders = [hosts.folder / "shared", hosts.folder / "archives"]
    for host in Host.objects.all():
        folders += [
            hosts.store(host).root / each for each in ("machines", "incoming", "outgoing", "tasks", "aside")
        ]
    found = (path for folder in folders for path in folder.rglob("*") if not path.is_dir())
    return {
        re.sub(r"(?<=[a-z]-)\d+", "N", str(path.relative_to(hosts.folder)))
        for path in found
        if path.parent.parent.name != "tasks" or path.name not in REMAINING_FILES
    }


def processes(hosts: Hosts) -> list[str]:
    """Return the programs that work in a folder of the hosts or name one in their command."""
    found = []
    for pid in striking.processes_below(hosts.folder):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            name = Path(words[0].split(":")[0]).name
            if name not in ("ssh", "sshd"):
                found.append("supervisor" if any(word.endswith(".supervisor") for word in words) else name)
    return sorted(found)


def drift(hosts: Hosts) -> set[tuple[str, str, str]]:
    """Compare each host with the rows twice, and return the differences."""
    for _ in range(2):
        Instance.objects.update(updated=Now() - timedelta(days=1))
        Host.objects.update(reconcile_at=Now())
        for host in Host.objects.order_by("pk"):
            assert reconciler.reconcile(host.pk, hosts) is not None, f"{host} did not tell what it has"
    return set(Drift.objects.filter(resolved_at=None).values_list("kind", "name", "detail"))


def assert_once(job: Job, hosts: Hosts, first_event: int, *events: str) -> None:
    """Check that the job succeeded and ran once: its events are these, and a late notification changes nothing."""
    assert (job.state, job.error) == ("done", "")
    fence = job.fence
    for _ in range(2):
        new_events = Event.objects.filter(pk__gte=first_event).order_by("pk")
        assert [(each.action, each.status, each.percent_complete) for each in new_events] == [
            (action, "finished", 100) for action in events
        ]
        engine.run(job.pk, hosts)
        job.refresh_from_db()
        assert job.fence == fence
    assert Job.objects.filter(finished_at=None).count() == 0


def assert_nothing_leaked(hosts: Hosts, instance: Instance) -> None:
    """Check that hosts and rows agree, that no file or process lacks a row, and that each disk is intact."""
    instance.refresh_from_db()
    name = machine_name(instance.pk)
    home = hosts.store(instance.host)
    for host in Host.objects.all():
        reserved = host.reservations.aggregate(memory=Sum("memory"), vcpus=Sum("vcpus"), disk=Sum("disk"))
        used = {"memory": host.memory_used, "vcpus": host.vcpus_used, "disk": host.disk_used}
        assert used == {key: value or 0 for key, value in reserved.items()}
        there = hosts.at(address_of(host)).inventory()
        expected = [(name, Power.ON)] if host == instance.host else []
        assert [(each.name, each.power) for each in there.machines] == expected
        assert there.leftovers == ()
        assert there.aside == frozenset()
    assert drift(hosts) == set()
    assert instance.status == "running"
    assert processes(hosts) == ["qemu-system-x86_64", "supervisor"]
    assert traces(hosts) == expected_traces(home.root.relative_to(hosts.folder), instance)
    kept = {path.stem for path in (hosts.folder / "archives").glob("*.raw")}
    assert kept == {disk["archive"] for backup in Backup.objects.all() for disk in backup.disks if disk["archive"]}


def expected_traces(host: Path, instance: Instance) -> set[str]:
    """Return the files of a machine that is on, and the files that finished work leaves."""
    files = {
        "boot.json",
        "console",
        "console.log",
        "lock",
        "machine.json",
        "power",
        "qmp",
        "ask",
        "watch",
        "stderr",
    }
    files |= {"firewall.json", "stderr"}
    found = {f"{host}/machines/skerry-N/{each}" for each in files}
    found |= {f"{host}/machines/skerry-N/disks/skerry-N-disk-N.raw"}
    return found | {"archives/skerry-backup-N-0.raw" for _ in Backup.objects.filter(status="successful")}


def assert_whole(hosts: Hosts, instance: Instance, marker: str, content: bytes) -> None:
    """Check the size of each disk. The system on it, and in archives, is clean and has the deployed content."""
    store = hosts.store(instance.host)
    for disk in instance.disks.order_by("pk"):
        path = store.disk(machine_name(instance.pk), disk_name(instance.pk, disk.pk))
        assert (disk.status, path.stat().st_size) == ("ready", disk.size << 20)
        if disk.filesystem == "ext4":
            assert is_clean(path)
            assert seen(path, marker) == content
    for archive in (hosts.folder / "archives").glob("*.raw"):
        assert is_clean(archive)
        assert seen(archive, marker) == content
