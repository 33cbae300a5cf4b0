"""Forks of ``make serve``: processes that share the memory of its imported modules."""

import contextlib
import ctypes
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

# Not the standard library's: before `main` runs, Celery's own drops the broker's connections of its parent.
from billiard import Pipe, Process
from billiard.connection import Connection, wait

STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
FIRST_DESCRIPTOR = 3
"""The first descriptor after standard input, output and error."""
END_SECONDS = 5.0
"""Seconds that a fork may take to end a statement of the database."""

T = TypeVar("T")


def fork(name: str, main: Callable[[], None]) -> Process:
    """Run `main` in a fork of this process, which has a session of its own and ends with its parent.

    The terminal's Ctrl-C reaches only the parent, which then stops its forks in order. On Linux, `name` is the name
    of the process, as ``top`` and ``pgrep`` show it: at most 15 bytes.
    """
    process = Process(target=_main, args=(name, main), name=name)
    # A signal for the terminal's group waits until the fork has left the group.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


@contextmanager
def value_of_fork(
    name: str, work: Callable[[], AbstractContextManager[T]], errors: tuple[type[BaseException], ...]
) -> Iterator[Callable[[], T]]:
    """Run a fork for the length of the block. It enters `work`, and stays inside until the block ends.

    Yields a function that waits for the value of `work`. It raises those `errors` of `work`, and `SystemExit` if
    the fork ended for another reason, which it has printed.
    """
    ours, theirs = Pipe(duplex=False)
    process = fork(name, partial(_answer, work, theirs, errors))
    theirs.close()

    def value() -> T:
        try:
            outcome = ours.recv()
        except EOFError:
            wait([process.sentinel], END_SECONDS)  # it may still print the reason; `end` joins it
            raise SystemExit(1) from None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    try:
        yield value
    finally:
        end([process], END_SECONDS)
        ours.close()


def _answer(
    work: Callable[[], AbstractContextManager[T]], pipe: Connection, errors: tuple[type[BaseException], ...]
) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with work() as value:
            pipe.send(value)
            signal.pause()
    except errors as error:
        pipe.send(error)
    except KeyboardInterrupt:
        pass  # the parent's block has ended


def end(processes: Sequence[Process], seconds: float) -> None:
    """Stop forks with SIGTERM. After `seconds`, kill those that still run, and all processes that they forked."""
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + seconds
    for process in processes:
        # In a loop, because a wait may be cut short: libfaketime divides the timeout of poll(2) by the speed of its
        # clock.
        while (left := deadline - time.monotonic()) > 0 and not wait([process.sentinel], left):
            pass
        kill_session(process)
        process.join()


def kill_session(process: Process) -> None:
    """Kill the processes of a fork's session: those that it forked, and the fork if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _main(name: str, main: Callable[[], None]) -> None:
    os.setsid()
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # drops a signal that waits
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        kernel = ctypes.CDLL(None)
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        kernel.prctl(PR_SET_NAME, name.encode())
    _release_descriptors()
    main()


def _release_descriptors() -> None:
    """Replace the inherited descriptors of files and sockets: with them, this process would keep the locks of its
    parent. Pipes stay, because the parent notices the end of a fork by a pipe.

    The descriptors are not closed: an object that still has one closes it later, and its number could belong to
    another file by then.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        with contextlib.suppress(OSError):  # the list itself was a descriptor
            if number >= FIRST_DESCRIPTOR and not stat.S_ISFIFO(os.fstat(number).st_mode):
                os.dup2(null, number, inheritable=False)
