"""The tiny guest is built of packages, and boots from the files on its disk."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compute.drivers.qemu.agent.disks import machine_disks, volumes
from compute.drivers.qemu.agent.disks.machine_disks import NewDisk
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.guest import build, cpio, modules, packages
from compute.drivers.qemu.passwords import sha512_crypt
from tests.compute.drivers.qemu.consoles import TIMEOUT_SECONDS, Console
from tests.compute.drivers.qemu.disk_files import DISK, MACHINE, OTHER, make_store, needs, program
from tests.compute.drivers.qemu.tiny_guests import tiny_guest
from tests.tours.pages import blocks_for
from tests.waiting import wait_for

PASSWORD = "Tall-ships.sail-at-9"
VOLUME = "skerry-volume-7"
NETWORK = {
    "name": "eth0",
    "mac": "f2:3c:00:00:00:07",
    "addresses": ["198.18.0.7/32"],
    "gateways": ["198.18.0.1"],
}


def test_an_archive_is_one_that_cpio_reads(tmp_path):
    needs("cpio")
    archive = cpio.Archive()
    archive.file("a/b/file", b"content", 0o755)
    archive.link("a/link", "b/file")
    archive.folder("empty")
    program("cpio", "-idm", "--quiet", "-D", tmp_path, given=archive.content())
    assert (tmp_path / "a/link").read_bytes() == b"content"
    assert (tmp_path / "a/b/file").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "empty").is_dir()


def test_modules_come_after_their_dependencies(tmp_path, monkeypatch):
    for name, info in {
        "virtio-net": b"\0depends=net_failover,virtio\0",
        "net_failover": b"x\0depends=\0",
        "virtio": b"depends=\0softdep=pre: crc32c post: other\0",
        "crc32c": b"\0",
    }.items():
        (tmp_path / f"{name}.ko").write_bytes(info)
    (tmp_path / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n")
    monkeypatch.setattr(modules, "WANTED", ("virtio_net", "ext4", "autofs4"))
    found = [module.name for module in modules.wanted(tmp_path)]
    assert found == ["net_failover", "crc32c", "virtio", "virtio_net"]
    monkeypatch.setattr(modules, "WANTED", ("sd_mod",))
    with pytest.raises(Failed, match="sd_mod"):
        modules.wanted(tmp_path)


def test_without_a_distributions_packages_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda program: None)
    with pytest.raises(Failed, match="Debian or Ubuntu"):
        build.build(Store(tmp_path / "host"))


@pytest.fixture(scope="module")
def guest() -> Store:
    """A host with the tiny guest, built by the commands of docs/guests.md.

    The guest is kept between runs, and built again when its sources change.
    """
    [block] = blocks_for(__file__)
    return tiny_guest(block)


@contextmanager
def booted(guest: Store, files: list[tuple[Path, str, str]], command_line: str) -> Iterator[Console]:
    """Boot a guest with these disks: file, product and label of each."""
    with tempfile.TemporaryDirectory() as short:
        console, monitor = Path(short) / "console", Path(short) / "monitor"
        command = [
            *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-accel", "tcg"),
            *("-machine", "q35", "-m", "192", "-device", "virtio-scsi-pci,id=scsi"),
            *("-chardev", f"socket,id=con,path={console},server=on,wait=on", "-serial", "chardev:con"),
            *("-monitor", f"unix:{monitor},server=on,wait=off", "-netdev", "user,id=net"),
            *("-device", f"virtio-net-pci,netdev=net,mac={NETWORK['mac']},romfile="),
            *("-kernel", str(guest.kernels() / "default" / "vmlinuz")),
            *("-initrd", str(guest.kernels() / "default" / "initrd")),
            *("-append", f"console=ttyS0 no_timer_check quiet {command_line}"),
        ]
        for lun, (file, product, label) in enumerate(files):
            drive = {"driver": "raw", "node-name": f"lun{lun}", "file": {"driver": "file", "filename": str(file)}}
            device = {"driver": "scsi-hd", "bus": "scsi.0", "lun": lun, "drive": f"lun{lun}"}
            shown = {"vendor": "Skerry", "product": product, "device_id": label}
            command += ["-blockdev", json.dumps(drive), "-device", json.dumps(device | shown)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: console.exists() or process.poll() is not None)
            assert process.poll() is None
            typed = Console(console)
            yield typed
            typed.type("poweroff\n")
            process.wait(TIMEOUT_SECONDS)
            typed.close()
        finally:
            process.kill()
            process.wait()


def finish(call) -> None:
    while not call().done:
        pass


@pytest.mark.guest
def test_the_tiny_guest_boots_with_all_that_was_written_into_its_disk(guest, tmp_path):
    store = make_store(tmp_path)
    store.image(build.IMAGE).parent.mkdir()
    store.image(build.IMAGE).symlink_to(guest.image(build.IMAGE))
    script = '#!/bin/sh\necho "ran as $(id -un) on $(hostname)"\n'
    secrets = {"root_hash": sha512_crypt(PASSWORD), "hostname": "web-1", "script": script}
    finish(lambda: machine_disks.create_disk(store, NewDisk(MACHINE, DISK, 1000, "ext4", build.IMAGE, **secrets)))
    finish(lambda: machine_disks.create_disk(store, NewDisk(MACHINE, OTHER, 64, "swap")))
    finish(lambda: volumes.create_volume(store, VOLUME, 1))
    assert machine_disks.prepare(store, MACHINE, DISK, [NETWORK]) is None
    files = [
        (store.disk(MACHINE, DISK), "Disk", DISK),
        (store.disk(MACHINE, OTHER), "Disk", OTHER),
        (store.volume(VOLUME), "Volume", "data"),
    ]
    for boot in range(2):
        with booted(guest, files, "root=/dev/sda rw") as console:
            assert console.prints(b"login: ", TIMEOUT_SECONDS)
            assert "RTNETLINK" not in console.printed()
            console.log_in(PASSWORD)
            assert console.run("hostname") == "web-1"
            assert "/dev/sdb" in console.run("cat /proc/swaps")
            assert console.run("readlink /dev/disk/by-id/scsi-0Skerry_Volume_data") == "../../sdc"
            assert "198.18.0.7/32" in console.run("ip addr show eth0")
            assert console.run("ip addr show lo").count("127.0.0.1/8") == 1
            assert "default via 198.18.0.1" in console.run("ip route")
            size = int(console.run("df -m / | tail -1").split()[1])
            assert 900 < size < 1000
            wait_for(lambda: "ran" in console.run("cat /root/StackScript.log"))
            assert console.run("cat /root/StackScript.log") == "ran as root on web-1", f"once, at boot {boot}"
            assert "first-boot" not in console.run("ls -A /root")
            console.run("sync")


@pytest.mark.guest
def test_a_rescue_needs_no_disk_and_finds_those_there_are(guest, tmp_path):
    store = make_store(tmp_path)
    finish(lambda: machine_disks.create_disk(store, NewDisk(MACHINE, DISK, 64, "ext4")))
    with booted(guest, [(store.disk(MACHINE, DISK), "Disk", DISK)], "rescue") as console:
        console.expect(b"RESCUE SHELL")
        console.type("\n")
        console.expect(b"# ")
        assert "mounted" in console.run("mount -t ext4 /dev/sda /mnt && echo mounted")
