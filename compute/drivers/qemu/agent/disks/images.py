"""The official images of a host: each is a system in a raw file of minimum size, with a JSON file of notes."""

import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import records, tasks
from compute.drivers.qemu.agent.commands import CommandFailed, run
from compute.drivers.qemu.agent.disks import ext, machine_disks, sparse, systems
from compute.drivers.qemu.agent.disks.ext import MB
from compute.drivers.qemu.agent.disks.trees import Tree
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.progress import DONE, Progress
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.agent.tasks import Task

GZIP, XZ, QCOW2 = b"\x1f\x8b", b"\xfd7zXZ\x00", b"QFI\xfb"
MAX_UNPACKED_BYTES = 1 << 40
"""The maximum number of bytes that a file may unpack to."""


def images(store: Store) -> list[dict[str, Any]]:
    """The images for deployments: `id`, `os`, the name of the system, and `size`, the minimum MB of a disk."""
    folder = store.root / "images"
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(folder.glob("*~*.raw")):
        note = records.read(path.with_suffix(".json")) or {}
        image = path.stem.replace("~", "/")
        found.append({"id": image, "size": path.stat().st_size // MB, "os": note.get("os") or image})
    return found


def import_image(store: Store, image: str, file: str, os_name: str | None = None) -> Progress:
    """Make an official image from a file on the host: a raw disk, which may be packed with gzip or xz, or a qcow2.

    `Refused` unless the file contains exactly one ext file system with a system, without partitions.
    """
    if store.image(image).exists() and not tasks.is_running(store.tasks(), _task(image)):
        return DONE
    arguments = {"image": image, "file": file, "os_name": os_name}
    return tasks.run(store.tasks(), _task(image), store, make_image, arguments)


def make_image(task: Task, store: Store, image: str, file: str, os_name: str | None) -> None:
    """The task of `import_image`."""
    target = store.image(image)
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = machine_disks.begun(target)
    unpack(Path(file), part, task.report)
    if not ext.is_ext(part):
        part.unlink()
        raise Refused(ext.NOT_EXT.format(what="file"))
    ext.check(part)
    tree = Tree(part)
    if not systems.has_system(tree):
        part.unlink()
        raise Refused("The file contains no system with passwords.")
    ext.shrink(part)
    records.write(target.with_suffix(".json"), {"os": os_name or _name_of(tree)})
    machine_disks.complete(part, target)


def delete_image(store: Store, image: str) -> None:
    """Delete an image. Disks that were deployed from it do not need it."""
    path = store.image(image)
    tasks.cancel(store.tasks(), _task(image))
    for each in (path, path.with_suffix(".part"), path.with_suffix(".json")):
        each.unlink(missing_ok=True)


def unpack(source: Path, target: Path, report: Callable[[int, int], None] | None = None) -> None:
    """Unpack a disk image into a new, sparse raw file. `Refused` if the image is missing or broken."""
    try:
        with source.open("rb") as file:
            kind = file.read(6)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise Refused("The file does not exist.") from error
    if kind.startswith(QCOW2):
        _convert(source, target)
    elif kind.startswith((GZIP, XZ)):
        _stream(source, target, kind.startswith(XZ), report)
    else:
        sparse.copy(source, target, report)
    _whole_sectors(target)


def _stream(source: Path, target: Path, is_xz: bool, report: Callable[[int, int], None] | None) -> None:
    total, offset = source.stat().st_size, 0
    with source.open("rb") as packed, target.open("xb") as writer:
        target.chmod(0o600)
        reader = lzma.LZMAFile(packed) if is_xz else gzip.GzipFile(fileobj=packed)  # noqa: SIM115 - opens nothing
        while data := _unpacked(reader):
            sparse.put(writer.fileno(), offset, data)
            offset += len(data)
            if offset > MAX_UNPACKED_BYTES:
                raise Refused("The unpacked file is larger than the largest disk.")
            if report is not None:
                report(packed.tell(), total)
        writer.truncate(offset)


def _unpacked(reader: gzip.GzipFile | lzma.LZMAFile) -> bytes:
    try:
        return reader.read(sparse.PIECE)
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise Refused("The file is damaged.") from error


def _convert(source: Path, target: Path) -> None:
    """Convert a qcow2. `Refused` if it names other files, which would be read from the host."""
    try:
        info = json.loads(run("qemu-img", "info", "-f", "qcow2", "--output=json", str(source)).stdout)
        data = info.get("format-specific", {}).get("data", {})
        if info.get("backing-filename") or data.get("data-file"):
            raise Refused("The file is only a part of an image.")
        run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", str(source), str(target))
    except CommandFailed as error:
        raise Refused("The file is damaged.") from error
    target.chmod(0o600)


def _whole_sectors(path: Path) -> None:
    size = path.stat().st_size
    if size % MB:
        os.truncate(path, -(-size // MB) * MB)


def _name_of(tree: Tree) -> str | None:
    """The name of a system, from its os-release file."""
    for place in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            text = tree.read(place)
        except Refused:
            continue
        for line in (text or b"").decode(errors="replace").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip("\"'")[:100]
    return None


def _task(image: str) -> str:
    return f"image.{image.replace('/', '~')}"
