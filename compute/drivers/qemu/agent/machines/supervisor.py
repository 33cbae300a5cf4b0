"""The supervisor of a machine's QEMU: a process that starts QEMU, watches it, and records why it ended.

The supervisor runs in the machine's directory, in its own session, and outlives its caller. Three file descriptors
matter:

- The supervisor locks the machine's power file, and QEMU inherits the lock. So the machine is on as long as either
  process lives.
- The supervisor inherits the lock of the verb that started it, and keeps it until QEMU answers or fails. So no
  other verb runs in between, even if the caller is killed.
- The supervisor reports through a pipe.

If the supervisor is killed, QEMU and the machine continue to run, but the reason of their end is not recorded.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import control_groups, locks, records
from compute.drivers.qemu.agent.control_groups import Limits
from compute.drivers.qemu.agent.machines.qmp import QMP, QMPError, Silent
from compute.drivers.qemu.agent.networks import machine_networks

BOOT, ENDED, STOP, POWER = "boot.json", "ended.json", "stop.json", "power"
LOG, EARLIER = "console.log", "console.earlier"
STDERR = "stderr"
STDERR_BYTES = 2000
LOG_BYTES = 1 << 20
"""The size in bytes at which a new console log is started. The previous log is kept, so the maximum is twice
this."""
CHECK_SECONDS = 5.0
"""Seconds between two checks of the logs' sizes."""
ANSWER_SECONDS = 30.0
"""Seconds that QEMU has to answer."""
# The directory or the zip file that contains the package
ROOT = str(Path(__file__).parents[5])


def spawn(
    directory: Path, lock: int, limits: Limits | None = None, timeout: float = ANSWER_SECONDS + 5
) -> dict[str, Any]:
    """Start a supervisor for the machine in `directory`, by the boot record there, and return its report.

    ``on`` in the report tells whether QEMU runs. If not, ``stderr`` is the end of QEMU's error output. On a host
    with systemd, `limits` apply to the supervisor and QEMU together.
    """
    reader, writer = os.pipe()
    try:
        try:
            command = [sys.executable, "-S", "-P", "-m", __name__, str(writer), str(lock)]
            if limits is not None:
                command = control_groups.in_scope(directory.name, limits, command)
            started = subprocess.Popen(  # noqa: S603 - this Python, this module
                command,
                cwd=directory,
                env={"PYTHONPATH": ROOT, "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                pass_fds=(writer, lock),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(writer)
        started.wait()  # the first process ends at once: the supervisor is its child
        return _report(reader, time.monotonic() + timeout)
    finally:
        os.close(reader)


def _report(reader: int, deadline: float) -> dict[str, Any]:
    text = b""
    while True:
        if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return {"on": False, "stderr": "The supervisor does not answer."}
        piece = os.read(reader, 65536)
        if not piece:
            break
        text += piece
    return dict(json.loads(text)) if text else {"on": False, "stderr": "The supervisor ended before it reported."}


def main(report: int, lock: int) -> None:
    """Run the supervisor. The caller waits only for the first process, which ends at once."""
    if os.fork():
        os._exit(0)
    for descriptor in (report, lock):
        os.set_inheritable(descriptor, False)
    here = Path(".")
    stderr = os.open(STDERR, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(stderr, 2)  # errors of the supervisor itself go there too
    power = os.open(POWER, os.O_RDWR | os.O_CLOEXEC)
    if not locks.try_lock(power):
        _tell(report, on=True)
        return
    boot = records.read(here / BOOT) or {}
    try:
        qemu = subprocess.Popen(  # noqa: S603 - without a shell
            boot["arguments"], stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, pass_fds=(power,)
        )
    except OSError as error:
        _end(here, "failed-to-start", stderr=str(error))
        machine_networks.remove_here(here)
        os.close(power)  # before the report: then the machine is off when the caller reads it
        _tell(report, on=False, stderr=str(error))
        return
    _supervise(here, qemu, boot, power, report, lock)


def _supervise(
    here: Path, qemu: "subprocess.Popen[bytes]", boot: Mapping[str, Any], power: int, report: int, lock: int
) -> None:
    pidfd = os.pidfd_open(qemu.pid)
    watch = _watch(here / "watch", pidfd, boot)
    if watch is None:
        qemu.kill()
        status = qemu.wait()
        words = _last_words(here)
        _end(here, "failed-to-start", status=status, stderr=words)
        machine_networks.remove_here(here)
        os.close(power)
        _tell(report, on=False, stderr=words)
        return
    _tell(report, on=True)
    os.close(lock)
    reason = None
    for event in _events(here, watch, pidfd):
        if event["event"] == "SHUTDOWN":
            reason = str(event["data"].get("reason", ""))
    status = qemu.wait()
    _end(here, _why(here, reason), reason=reason, status=status, stderr=_last_words(here))
    machine_networks.remove_here(here)  # the power file is still locked, so no verb starts the machine meanwhile


def _watch(path: Path, pidfd: int, boot: Mapping[str, Any]) -> QMP | None:
    """Connect to QEMU, and limit the disks. Return None if QEMU ended or does not answer."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        try:
            watch = QMP(path, timeout=ANSWER_SECONDS)
            # here, before the report that the machine is on: the caller may die at any moment
            for drive in boot["drives"] if boot.get("limits") else ():
                watch.call("block_set_io_throttle", id=drive, **boot["limits"])
            return watch
        except Silent:
            if select.select([pidfd], [], [], 0.01)[0]:
                return None
        except QMPError as error:
            print(error.details, file=sys.stderr, flush=True)  # noqa: T201 - these are its last words
            return None
    return None


def _events(here: Path, watch: QMP, pidfd: int) -> Iterator[dict[str, Any]]:
    """Yield QEMU's events until QEMU has ended, and trim the logs meanwhile."""
    listening = [watch.fileno()]
    while True:
        ready = select.select([*listening, pidfd], [], [], CHECK_SECONDS)[0]
        if listening and not watch.read():
            listening = []
        yield from watch.events
        watch.events.clear()
        if pidfd in ready:
            return
        trim(here)


def _why(here: Path, reason: str | None) -> str:
    """Return why a machine that ran has ended.

    ``guest-shutdown`` is the guest's own decision. ``host-request`` is a shutdown that the platform or the host
    asked for. ``killed`` means that QEMU ended without a shutdown.
    """
    if reason is None:
        return "killed"
    if reason.startswith("guest") and not (here / STOP).exists():
        return "guest-shutdown"
    return "host-request"


def _end(here: Path, why: str, **details: Any) -> None:
    records.write(here / ENDED, {"why": why, "at": time.time(), **details})


def _last_words(here: Path) -> str:
    return (here / STDERR).read_text(errors="replace")[-STDERR_BYTES:].strip()


def trim(here: Path, most: int = LOG_BYTES) -> None:
    """Limit the sizes of a machine's logs. Output between the copy and the cut is lost."""
    with contextlib.suppress(FileNotFoundError):
        if (here / LOG).stat().st_size > most:
            with (here / LOG).open("r+b") as log:
                log.seek(-most, os.SEEK_END)
                (here / EARLIER).write_bytes(log.read(most))
                log.truncate(0)
    with contextlib.suppress(FileNotFoundError):
        if (here / STDERR).stat().st_size > most:
            os.truncate(here / STDERR, 0)


def _tell(report: int, **answer: Any) -> None:
    # the caller may be gone
    with contextlib.suppress(BrokenPipeError):
        os.write(report, json.dumps(answer).encode())
    os.close(report)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
