"""Copies of disks and volumes that a machine has in use, made by its QEMU. A copy has the content that the disk has
when the copying ends.

QEMU copies with a mirror job, which is ended when the mirror is complete. Meanwhile the guest's writes go to both
sides. Backup jobs of QEMU are not used, because they write the zeros of a sparse disk as blocks.

The caller renames the target when the copy is complete. A new file under the same name is another target. QEMU
alone knows which copies are running: each job is named after its target.
"""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.machines.devices import attached
from compute.drivers.qemu.agent.machines.machine_dirs import NoMachine, is_on, locked_machine
from compute.drivers.qemu.agent.machines.qmp import QMP, QMPError
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.store import Store

POLL = 0.5
FIRST_POLL = 0.05
CANCEL_SECONDS = 5.0


def copy_running(
    store: Store, machine: str, disk: str, target: Path, report: Callable[[int, int], None] | None = None
) -> None:
    """Copy a disk or volume that a machine has in use to the raw file `target`, and return when it is complete.

    For tasks: between two polls, other calls can lock the machine. `report` is called with the copied bytes and the
    total bytes. If a caller was killed, the next one may use the same file or a new one. Raises `Failed` if the
    machine powers off before the end, or does not have the disk. Then the disk's own file can be copied.
    """
    poll = FIRST_POLL
    while True:
        progress = copy(store, machine, disk, target, report)
        if progress is None:
            raise Failed("The machine does not use the disk any more.")
        if progress.done:
            return
        time.sleep(poll)
        poll = min(POLL, poll * 2)


def copy(
    store: Store, machine: str, disk: str, target: Path, report: Callable[[int, int], None] | None = None
) -> Progress | None:
    """Start or poll a copy like `copy_running`: the first call starts it, and later calls return its progress.

    A call after the one that returned `DONE` starts a new copy. Return None if the machine does not use the disk.
    """
    with locked_machine(store, machine) as (directory, _):
        if not is_on(directory):
            return None
        with QMP(directory / "qmp") as qemu:
            name = _named(target)
            job = _job(qemu, name)
            if job is None:
                source = attached(qemu).nodes.get(disk)
                if source is None:
                    return None
                _cancel_all(qemu, target)
                _begin(qemu, name, source, target)
                job = _job(qemu, name)
            return _poll_job(qemu, name, job, target, report)


def stop_copying(store: Store, machine: str, target: Path) -> None:
    """Cancel the running copies to this target, whose file may be deleted already."""
    try:
        with locked_machine(store, machine) as (directory, _):
            if is_on(directory):
                with QMP(directory / "qmp", timeout=CANCEL_SECONDS) as qemu:
                    _cancel_all(qemu, target)
    except NoMachine:
        return


def _path_name(target: Path) -> str:
    return "c" + hashlib.sha256(str(target.absolute()).encode()).hexdigest()[:12]


def _named(target: Path) -> str:
    """The name of the job and of its block node, at most 31 bytes, from the path and the inode of the file.

    While QEMU has a file open, no other file has the same inode number.
    """
    if not target.exists():
        target.touch(mode=0o600)
    return f"{_path_name(target)}-{target.stat().st_ino:x}"


def _begin(qemu: QMP, name: str, source: str, target: Path) -> None:
    sizes = {each["node-name"]: each["image"]["virtual-size"] for each in _nodes(qemu)}
    # delete the content of an earlier copy, because zeros are not written
    os.truncate(target, 0)
    os.truncate(target, sizes[source])
    with qemu.opened(target) as opened:
        file = {"driver": "file", "filename": opened, "discard": "unmap"}
        node = {"driver": "raw", "node-name": name, "detect-zeroes": "unmap", "discard": "unmap", "file": file}
        qemu.call("blockdev-add", **node)
    job = {"job-id": name, "device": source, "target": name, "sync": "full", "auto-dismiss": False}
    qemu.call("blockdev-mirror", **job, **{"copy-mode": "write-blocking"})


def _poll_job(
    qemu: QMP, name: str, job: dict[str, Any] | None, target: Path, report: Callable[[int, int], None] | None
) -> Progress:
    if job is None:
        raise Failed("The disk could not be copied.")
    done, total = job["current-progress"], job["total-progress"]
    if report is not None:
        report(done, total)
    if job["status"] == "ready":
        qemu.call("block-job-cancel", device=name)  # this ends a ready mirror successfully: both sides are equal
        return Progress(99, FIRST_POLL)
    if job["status"] != "concluded":
        return Progress(min(99, int(done / max(1, total) * 100)), POLL)
    # in this order: while the job exists its node is open, so that no other file gets the inode number
    qemu.call("job-dismiss", id=name)
    _forget_node(qemu, name)
    if error := job.get("error"):
        raise Failed("The disk could not be copied.") from QMPError("blockdev-mirror", {"desc": error})
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return DONE


def _cancel_all(qemu: QMP, target: Path) -> None:
    """Cancel the jobs that earlier callers started with this target, and close their files."""
    prefix = f"{_path_name(target)}-"
    for name in [each["id"] for each in qemu.call("query-jobs") if each["id"].startswith(prefix)]:
        _cancel(qemu, name)
    for name in {each["node-name"] for each in _nodes(qemu)}:
        if name.startswith(prefix):
            _forget_node(qemu, name)


def _cancel(qemu: QMP, name: str) -> None:
    job = _job(qemu, name)
    if job is not None and job["status"] != "concluded":
        qemu.call("job-cancel", id=name)
        while (job := _job(qemu, name)) is not None and job["status"] != "concluded":
            qemu.wait("JOB_STATUS_CHANGE", lambda data: data["id"] == name)
    if job is not None:
        qemu.call("job-dismiss", id=name)


def _job(qemu: QMP, name: str) -> dict[str, Any] | None:
    return next((each for each in qemu.call("query-jobs") if each["id"] == name), None)


def _nodes(qemu: QMP) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = qemu.call("query-named-block-nodes", flat=True)
    return found


def _forget_node(qemu: QMP, name: str) -> None:
    if any(each["node-name"] == name for each in _nodes(qemu)):
        qemu.call("blockdev-del", **{"node-name": name})
