"""Long work, in a separate process that outlives its caller.

A task is named after its target, such as a disk. The first call starts the task and waits for a moment. A repeated
call finds it running and reports its progress. The process of the task, and every program that it starts, has the
task's lock. A task is running if its lock is taken; process ids are not trusted for this.

If the process died, the next call starts the work again. So the work first removes the remains of an earlier run.
If the work failed, the next call deletes the record of the failure and raises the failure. The call after that
starts the work again. A refused task leaves no files. After other failures, the log remains.

The owner of the lock may delete the lock's file at the end. So each new owner checks that it locked the present
file.
"""

import contextlib
import errno
import hashlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import control_groups, locks, records
from compute.drivers.qemu.agent.errors import Failed, Refused, details_of
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.store import Store

NAME = re.compile(r"[a-z0-9][a-z0-9_.~-]{0,150}")
WAIT_SECONDS = 1.0
"""Seconds that a call waits for the end of its task."""
POLL = 0.01
REPORT_SECONDS = 0.5
"""Seconds between two reports of a task."""
STOP_SECONDS = 10.0
"""Seconds that killed processes have to end."""
# The directory or the zip file that contains the package
ROOT = str(Path(__file__).parents[4])
PACKAGE = __name__.rpartition(".")[0]
MODULES_IN_DIGESTS = {"machine_disks": "disks"}
"""The names in digests of modules that were renamed. Tasks of an agent with the old name may still run."""
_BEGIN = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from compute.drivers.qemu.agent import tasks; tasks.main(*sys.argv[2:])"
)


class Task:
    """The object by which the work of a task reports its progress."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._began = time.monotonic()
        self._reported = 0.0

    def report(self, done: int, total: int) -> None:
        """Report that `done` of `total` bytes are copied. Reports are at least `REPORT_SECONDS` apart."""
        now = time.monotonic()
        if now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        rate = done / max(now - self._began, 0.001)
        records.write(
            self._folder / "progress",
            {
                "percent": min(99, done * 100 // max(total, 1)),
                "rate": rate / (1 << 20),
                "remaining": (total - done) / max(rate, 1.0),
            },
        )


class NoTask(Task):
    """A task for work in this process, without reports."""

    def __init__(self) -> None:
        pass

    def report(self, done: int, total: int) -> None:
        """Do nothing: no call asks for the progress."""


def run(
    folder: Path,
    name: str,
    store: Store,
    work: Callable[..., None],
    arguments: Mapping[str, Any],
    secrets: Mapping[str, Any] | None = None,
    patience: float = WAIT_SECONDS,
) -> Progress:
    """Run `work(task, store, **arguments, **secrets)` in a task, and return its progress.

    `folder` contains all tasks. `work` is a function of a module, with arguments that JSON can represent. `secrets`
    may differ from call to call, and reach the task only through a pipe. Raises the failure of the work once.
    Raises `Failed` while a task with other work runs under this name.
    """
    place = _place(folder, name)
    wanted = _digest(work, arguments)
    given = {
        "work": [work.__module__, work.__qualname__],
        "store": [str(store.root), None if store.shared is None else str(store.shared)],
        "arguments": {**arguments, **(secrets or {})},
    }
    while not _begun(place, wanted, given):
        continue  # the task's folder was deleted in this moment
    return _awaited(place, wanted, patience)


def _begun(place: Path, wanted: str, given: Mapping[str, Any]) -> bool:
    """Start the task unless it runs already. Return False if the caller has to try again."""
    with _opened(place) as lock:
        if not locks.try_lock(lock):
            request = records.read(place / "request")
            if request is not None and request["digest"] != wanted:
                raise Failed("Another task with this name is running.")
            return True
        if not _is(lock, place / "lock"):
            return False
        failure = _take_failure(place, wanted)
        if failure is not None:
            if isinstance(failure, Refused):
                _remove(place, lock)
            raise failure
        _clean(place)
        records.write(place / "request", {"digest": wanted})
        _start(place, lock, given)
        return True


def is_running(folder: Path, name: str) -> bool:
    """Tell whether a task of this name is running."""
    return locks.is_locked(_place(folder, name) / "lock")


def cancel(folder: Path, name: str) -> None:
    """Kill a task with all its processes, and forget its failure.

    Raises `Failed` if the task cannot be killed from this host.
    """
    place = _place(folder, name)
    if not place.is_dir():
        return
    deadline = time.monotonic() + STOP_SECONDS
    with _opened(place) as lock:
        while not locks.try_lock(lock):
            if time.monotonic() > deadline:
                raise Failed("The running task could not be stopped.")
            begun = records.read(place / "process") or {}
            # While the lock is taken, a process of the group lives, so no other group has its id
            if begun.get("boot") == _boot():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(begun["group"], signal.SIGKILL)
            time.sleep(POLL)
        _remove(place, lock)


def _awaited(place: Path, wanted: str, patience: float) -> Progress:
    deadline = time.monotonic() + patience
    while locks.is_locked(place / "lock"):
        if time.monotonic() > deadline:
            return Progress(**{"percent": 0, **(records.read(place / "progress") or {})})
        time.sleep(POLL)
    failure = _take_failure(place, wanted)
    if failure is not None:
        if isinstance(failure, Refused):
            with _opened(place) as lock:
                # not if another call has started the work again
                if locks.try_lock(lock):
                    _remove(place, lock)
        raise failure
    if records.read(place / "done") != {"digest": wanted}:
        raise Failed("The work was interrupted.")
    return DONE


def _start(place: Path, lock: int, given: Mapping[str, Any]) -> None:
    """Start the process, which inherits the lock, so that the lock is never free in between."""
    command = [sys.executable, "-P", "-c", _BEGIN, ROOT, str(place), str(lock)]
    with (place / "log").open("wb") as log:
        done = subprocess.run(  # noqa: S603 - ourselves
            control_groups.in_scope(f"skerry-task-{os.getpid()}", control_groups.TASK_LIMITS, command),
            input=json.dumps(given).encode(),
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            check=False,
        )
    if done.returncode:
        raise Failed("The work could not be started on this host.")


def main(place: str, lock: str) -> None:
    """Run the process of a task. The caller waits only for the first process, which ends at once."""
    given = json.load(sys.stdin)
    child = os.fork()
    if child:
        records.write(Path(place) / "process", {"group": child, "boot": _boot()})
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.set_inheritable(int(lock), False)
    with locks.inherited(int(lock)):
        _work(Path(place), **given)


def _work(place: Path, work: tuple[str, str], store: tuple[str, str | None], arguments: dict[str, Any]) -> None:
    module, name = work
    root, shared = store
    try:
        function = getattr(importlib.import_module(module), name)
        function(Task(place), Store(Path(root), None if shared is None else Path(shared)), **arguments)
    except Failed as error:
        _fail(place, str(error), refused=isinstance(error, Refused), details=details_of(error))
    except Exception:  # noqa: BLE001 - a call raises every error
        traceback.print_exc()
        _fail(
            place,
            "The task failed. The log of the host has the reason.",
            refused=False,
            details=traceback.format_exc(),
        )
    else:
        records.write(place / "done", records.read(place / "request") or {})


def _fail(place: Path, text: str, refused: bool, details: str) -> None:
    digest = (records.read(place / "request") or {}).get("digest")
    records.write(place / "failure", {"text": text, "refused": refused, "digest": digest, "details": details})


def _take_failure(place: Path, wanted: str) -> Failed | None:
    """Return the failure of this work, if any, and forget it."""
    found = records.read(place / "failure")
    if found is None:
        return None
    (place / "failure").unlink()
    if found["digest"] != wanted:
        return None
    failure = (Refused if found["refused"] else Failed)(found["text"])
    failure.details = found.get("details", "")
    return failure


def _remove(place: Path, lock: int) -> None:
    """Remove the folder of an ended task, whose lock is ours, unless the folder belongs to a new task already."""
    if _is(lock, place / "lock"):
        _clean(place)
        (place / "lock").unlink()
        _remove_if_empty(place)


def _remove_if_empty(place: Path) -> None:
    """Remove the folder, unless another call has started a task there again."""
    try:
        place.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
            raise


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _clean(place: Path) -> None:
    for path in place.iterdir():
        if path.name != "lock":
            path.unlink(missing_ok=True)


def _place(folder: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r:.100} is not a valid name.")
    return folder / name


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[int]:
    while True:
        place.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # the task's folder was deleted in this moment
        break
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _digest(work: Callable[..., None], arguments: Mapping[str, Any]) -> str:
    # not the folder of the module: agents of earlier releases had none, and their tasks may still run
    name = work.__module__.rpartition(".")[2]
    module = f"{PACKAGE}.{MODULES_IN_DIGESTS.get(name, name)}"
    text = json.dumps([module, work.__qualname__, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _boot() -> str:
    """The id of the host's current boot: process ids mean nothing on other hosts or after a reboot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
