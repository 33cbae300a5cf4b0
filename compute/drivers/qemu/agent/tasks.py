"""Long work, in a process of its own that outlives who started it.

A task is named after its target, such as a disk. The first call starts it and waits a moment; a repeated one finds
it at work and reports how far it is. Whether the work goes on is told by a lock which its process holds, and every
program that the process has started: no number of a process is trusted for that. Work whose process died begins
anew, so it starts by removing what an earlier run may have left. A failure is raised by the next call, once, and
forgotten: the call after that begins anew. Of what was refused nothing is left; of other failures, the log.

Whoever has the lock may delete its file, when all is over. So who gets it looks whether it is still that file.
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

from compute.drivers.qemu.agent import locks, records, scopes
from compute.drivers.qemu.agent.errors import Failed, Refused, details_of
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.store import Store

NAME = re.compile(r"[a-z0-9][a-z0-9_.~-]{0,150}")
WAIT_SECONDS = 1.0
"""Seconds that a call waits for its task's end."""
POLL = 0.01
REPORTS = 0.5
"""Seconds between two reports of a task."""
STOPPING = 10.0
"""Seconds for killed processes to be gone."""
# The directory or the zip file that holds the package
ROOT = str(Path(__file__).parents[4])
_BEGIN = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from compute.drivers.qemu.agent import tasks; tasks.main(*sys.argv[2:])"
)


class Task:
    """What the work of a task has at hand."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._began = time.monotonic()
        self._reported = 0.0

    def report(self, done: int, total: int) -> None:
        """Say that `done` of `total` bytes are copied. It is written now and then, however often it is called."""
        now = time.monotonic()
        if now - self._reported < REPORTS:
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
    """For work that is done right here."""

    def __init__(self) -> None:
        pass

    def report(self, done: int, total: int) -> None:
        """Nobody asks."""


def run(
    folder: Path,
    name: str,
    store: Store,
    work: Callable[..., None],
    arguments: Mapping[str, Any],
    secrets: Mapping[str, Any] | None = None,
    patience: float = WAIT_SECONDS,
) -> Progress:
    """Have `work(task, store, **arguments, **secrets)` done by a task; how far it is.

    `folder` is that of all tasks, `work` a function of a module, and its arguments what JSON can hold. `secrets`
    may differ from call to call, and reach the task through a pipe alone. Raises what the work raised, once;
    `Failed` while other work is done under this name.
    """
    place = _place(folder, name)
    wanted = _digest(work, arguments)
    given = {
        "work": [work.__module__, work.__qualname__],
        "store": [str(store.root), None if store.shared is None else str(store.shared)],
        "arguments": {**arguments, **(secrets or {})},
    }
    while not _begun(place, wanted, given):
        continue  # its folder was deleted in this moment
    return _awaited(place, wanted, patience)


def _begun(place: Path, wanted: str, given: Mapping[str, Any]) -> bool:
    """Have the work at it, by this call or an earlier one; False where it has to be tried again."""
    with _opened(place) as lock:
        if not locks.try_lock(lock):
            request = records.read(place / "request")
            if request is not None and request["digest"] != wanted:
                raise Failed("Something else is being done here.")
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
    """Whether a task of this name is at work."""
    return locks.is_locked(_place(folder, name) / "lock")


def cancel(folder: Path, name: str) -> None:
    """End a task with all its processes, and forget its failure. Raises `Failed` where it cannot be ended here."""
    place = _place(folder, name)
    if not place.is_dir():
        return
    deadline = time.monotonic() + STOPPING
    with _opened(place) as lock:
        while not locks.try_lock(lock):
            if time.monotonic() > deadline:
                raise Failed("What is being done here cannot be ended.")
            begun = records.read(place / "process") or {}
            # While the lock is held some process of the group lives, so its number is nobody else's
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
                # not where somebody has begun anew meanwhile
                if locks.try_lock(lock):
                    _remove(place, lock)
        raise failure
    if records.read(place / "done") != {"digest": wanted}:
        raise Failed("The work was interrupted.")
    return DONE


def _start(place: Path, lock: int, given: Mapping[str, Any]) -> None:
    """Start the process, and give it the lock: it is held without a gap."""
    command = [sys.executable, "-P", "-c", _BEGIN, ROOT, str(place), str(lock)]
    with (place / "log").open("wb") as log:
        done = subprocess.run(  # noqa: S603 - ourselves
            scopes.within(f"skerry-task-{os.getpid()}", scopes.TASK_LIMITS, command),
            input=json.dumps(given).encode(),
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            check=False,
        )
    if done.returncode:
        raise Failed("The work could not be started on this host.")


def main(place: str, lock: str) -> None:
    """The process of a task. The caller waits for the first one only, which is over at once."""
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
    except Exception:  # noqa: BLE001 - whatever it was, a call is to raise it
        traceback.print_exc()
        _fail(place, "The host failed at this; its log says how.", refused=False, details=traceback.format_exc())
    else:
        records.write(place / "done", records.read(place / "request") or {})


def _fail(place: Path, text: str, refused: bool, details: str) -> None:
    digest = (records.read(place / "request") or {}).get("digest")
    records.write(place / "failure", {"text": text, "refused": refused, "digest": digest, "details": details})


def _take_failure(place: Path, wanted: str) -> Failed | None:
    """The failure of this work, which is forgotten."""
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
    """Remove the folder of a task that nobody is at, whose lock is ours, unless it is another one's already."""
    if _is(lock, place / "lock"):
        _clean(place)
        (place / "lock").unlink()
        _remove_if_empty(place)


def _remove_if_empty(place: Path) -> None:
    """Somebody else may have begun there again."""
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
        raise Refused(f"{name!r:.100} is no name.")
    return folder / name


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[int]:
    while True:
        place.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # its folder was deleted in this moment
        break
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _digest(work: Callable[..., None], arguments: Mapping[str, Any]) -> str:
    text = json.dumps([work.__module__, work.__qualname__, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _boot() -> str:
    """This host since its last boot: numbers of processes mean nothing elsewhere."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
