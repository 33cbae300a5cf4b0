"""Uploaded disk images, unpacked into the directory of archives on the workers' side."""

import os
from pathlib import Path

from compute.drivers.base import DONE, DriverError, Progress, Refused
from compute.drivers.qemu.agent import errors, tasks
from compute.drivers.qemu.agent.disks import images, machine_disks
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.file_transfers import make_archives

MB = 1 << 20
GONE = "The file of the upload is gone."


def take_in(archive: Path, file: Path, size: int) -> Progress:
    """Unpack a gzip file of a raw disk image to an archive of `size` MB. Raises `Refused` without the file."""
    folder, name = archive.parent / "tasks", f"upload.{archive.stem}"
    if archive.exists() and not tasks.is_running(folder, name):
        return DONE
    if not file.is_file():
        raise Refused(GONE)
    make_archives(archive.parent)
    arguments = {"archive": str(archive), "file": str(file), "size": size}
    try:
        result = tasks.run(folder, name, Store(archive.parent), unpack, arguments)
    except errors.Refused as error:
        raise Refused(str(error)) from error
    except errors.Failed as error:
        raise DriverError(str(error)) from error
    return Progress(result.percent, result.wait, result.rate, result.remaining)


def unpack(task: tasks.Task, store: Store, archive: str, file: str, size: int) -> None:
    """The task of `take_in`."""
    target = Path(archive)
    if target.exists():
        return
    part = machine_disks.begun(target)
    images.unpack(Path(file), part, task.report)
    os.truncate(part, size * MB)
    machine_disks.complete(part, target)


def delete(archive: Path) -> None:
    """Delete an archive, complete or not. Raises `DriverError` while another process writes it."""
    try:
        tasks.cancel(archive.parent / "tasks", f"upload.{archive.stem}")
        machine_disks.delete_file(archive)
    except errors.Failed as error:
        raise DriverError(str(error)) from error
