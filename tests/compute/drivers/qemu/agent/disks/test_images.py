"""Official images: system files in any supported packing."""

import gzip
import lzma
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import tasks
from compute.drivers.qemu.agent.disks import images
from compute.drivers.qemu.agent.errors import Refused
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import (
    MB,
    allocated,
    ext4,
    is_clean,
    make_store,
    needs,
    program,
    system_folder,
)

IMAGE = "test/system-1.0"


@pytest.fixture
def store(tmp_path) -> Store:
    needs("e2fsck", "mke2fs", "debugfs", "resize2fs")
    return make_store(tmp_path)


@pytest.fixture
def raw(tmp_path) -> Path:
    files = system_folder(tmp_path / "files")
    (files / "etc/os-release").write_text('NAME="Test"\nPRETTY_NAME="Test System 1.0"\n')
    return ext4(tmp_path / "system.raw", 120, files)


def bring(store: Store, file: Path, **more) -> None:
    while not images.import_image(store, IMAGE, str(file), **more).done:
        pass


def packed(raw: Path, kind: str) -> Path:
    file = raw.with_name(f"system.{kind}")
    if kind == "gz":
        file.write_bytes(gzip.compress(raw.read_bytes(), 1))
    elif kind == "xz":
        file.write_bytes(lzma.compress(raw.read_bytes(), preset=0))
    elif kind == "qcow2":
        needs("qemu-img")
        program("qemu-img", "convert", "-O", "qcow2", raw, file)
    return file


@pytest.mark.parametrize("kind", ["raw", "gz", "xz", "qcow2"])
def test_an_image_is_made_of_a_file_and_as_small_as_it_can_be(store, raw, kind):
    bring(store, packed(raw, kind))
    path = store.image(IMAGE)
    (found,) = images.images(store)
    assert found == {"id": IMAGE, "size": path.stat().st_size // MB, "os": "Test System 1.0"}
    assert found["size"] < 100
    assert is_clean(path)
    assert allocated(path) < 20 * MB
    bring(store, Path("/nowhere"))
    for _ in range(2):
        images.delete_image(store, IMAGE)
    assert list((store.root / "images").iterdir()) == []


def test_staff_may_name_it(store, raw):
    bring(store, raw, os_name="Ours")
    assert images.images(store)[0]["os"] == "Ours"


@pytest.mark.parametrize("kind", ["gz", "xz", "qcow2"])
def test_a_broken_file_is_refused(store, raw, kind):
    file = packed(raw, kind)
    content = bytearray(file.read_bytes()[: file.stat().st_size // 2])
    content[20:60] = bytes(40)
    file.write_bytes(content)
    with pytest.raises(Refused):
        bring(store, file)
    assert images.images(store) == []


def test_a_file_of_partitions_is_refused(store, tmp_path):
    file = tmp_path / "disk.raw"
    file.write_bytes(bytes(510) + b"\x55\xaa" + bytes(MB))
    with pytest.raises(Refused, match="without partitions"):
        bring(store, file)


def test_a_file_without_a_system_is_refused(store, tmp_path):
    with pytest.raises(Refused, match="no system"):
        bring(store, ext4(tmp_path / "empty.raw", 64))
    assert [each.suffix for each in (store.root / "images").iterdir()] == []


def test_a_qcow2_that_names_files_of_the_host_is_refused(store, raw, tmp_path):
    needs("qemu-img")
    for number, options in enumerate(
        (["-b", raw, "-F", "raw"], ["-o", f"data_file={tmp_path}/data,data_file_raw=on"])
    ):
        file = tmp_path / f"part-{number}.qcow2"
        size = [] if number == 0 else ["64M"]
        program("qemu-img", "create", "-f", "qcow2", *options, file, *size)
        with pytest.raises(Refused, match="only a part"):
            bring(store, file)


def test_an_import_that_died_is_begun_anew(store, raw):
    part = store.image(IMAGE).with_suffix(".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"left by a dead task")
    images.make_image(tasks.NoTask(), store, IMAGE, str(raw), None)
    assert is_clean(store.image(IMAGE))
    assert not part.exists()
