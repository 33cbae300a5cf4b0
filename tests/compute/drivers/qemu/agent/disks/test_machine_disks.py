"""Disks of machines: create, resize, set passwords and networks, delete. Each verb may be killed and repeated."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import commands, tasks
from compute.drivers.qemu.agent.disks import ext, machine_disks, sparse, trees
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.progress import Progress
from compute.drivers.qemu.agent.store import Store
from tests.compute.drivers.qemu.disk_files import (
    DISK,
    HASH,
    MACHINE,
    MB,
    OTHER,
    allocated,
    ext4,
    is_clean,
    leave_journal,
    make_store,
    needs,
    program,
    seen,
    stat_of,
    system_folder,
)

IMAGE = "test/system"
ARCHIVE = "skerry-image-7"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S owner@example.com"
NETWORK = {
    "name": "eth0",
    "mac": "f2:3c:00:00:00:07",
    "addresses": ["198.18.0.7/32", "2001:db8:77::7/128"],
    "gateways": ["198.18.0.1", "fe80::1"],
    "resolvers": ["198.18.0.2", "2001:db8::53"],
}
RESOLVERS = b"nameserver 198.18.0.2\nnameserver 2001:db8::53\n"


@pytest.fixture
def store(tmp_path) -> Store:
    needs("e2fsck", "mke2fs", "debugfs", "resize2fs", "e2undo", "mkswap", "tune2fs")
    store = make_store(tmp_path)
    ext4(store.image(IMAGE), 32, system_folder(tmp_path / "files"), "-E", "resize=268435456")
    program("debugfs", "-w", "-R", "sif /etc/shadow gid 42", store.image(IMAGE))
    return store


def finish(call) -> None:
    while not call().done:
        pass


def create(store: Store, disk: str = DISK, size: int = 200, filesystem: str = "ext4", **more) -> Path:
    finish(lambda: machine_disks.create_disk(store, machine_disks.NewDisk(MACHINE, disk, size, filesystem, **more)))
    return store.disk(MACHINE, disk)


def deploy(store: Store, disk: str = DISK, **more) -> Path:
    given = {"image": IMAGE, "root_hash": HASH, "authorized_keys": [KEY], "hostname": "web-1", **more}
    return create(store, disk, **given)


def folder(store: Store) -> list[str]:
    return sorted(each.name for each in (store.machine(MACHINE) / "disks").iterdir())


# --- making -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filesystem", machine_disks.FILESYSTEMS)
def test_an_empty_disk_is_of_its_kind_and_costs_nothing(store, filesystem):
    path = create(store, size=25_088, filesystem=filesystem)
    assert path.stat().st_size == 25_088 * MB
    assert allocated(path) < (150 if filesystem == "ext3" else 32) * MB, "of ext3 the journal is written"
    assert ext.is_ext(path) == (filesystem in ("ext3", "ext4"))
    assert machine_disks.is_swap(path) == (filesystem == "swap")
    assert path.stat().st_mode & 0o777 == 0o600
    assert machine_disks.disks(store, MACHINE) == [DISK]
    assert machine_disks.disk_size(store, MACHINE, DISK) == 25_088


def test_a_deployed_disk_has_the_image_and_the_given_values(store):
    path = deploy(store, size=25_088, script="#!/bin/sh\necho hello\n")
    assert path.stat().st_size == 25_088 * MB
    assert ext.has_filled(path)
    assert is_clean(path)
    assert allocated(path) < 100 * MB
    assert seen(path, "/srv/data") == bytes(range(256)) * 4096
    first, second = seen(path, "/etc/shadow").decode().splitlines()
    assert first.split(":")[1] == HASH
    assert second.startswith("daemon:*:")
    assert "Group:    42" in stat_of(path, "/etc/shadow")
    assert "Mode:  0640" in stat_of(path, "/etc/shadow")
    assert seen(path, "/root/.ssh/authorized_keys").decode() == f"{KEY}\n"
    assert "Mode:  0600" in stat_of(path, "/root/.ssh/authorized_keys")
    assert "Mode:  0700" in stat_of(path, "/root/.ssh")
    assert seen(path, "/etc/hostname") == b"web-1\n"
    assert seen(path, "/etc/hosts").splitlines() == [b"127.0.0.1 localhost", b"127.0.1.1\tweb-1"]
    assert seen(path, "/root/.skerry-first-boot") == b"#!/bin/sh\necho hello\n"
    assert "symlink" in stat_of(path, "/etc/systemd/system/multi-user.target.wants/skerry-first-boot.service")
    for device in ("ttyS0", "sdb"):
        limit = seen(path, f"/etc/systemd/system/dev-{device}.device.d/10-skerry.conf")
        assert limit.endswith(b"[Unit]\nJobRunningTimeoutSec=10min\n")
    assert ext.uuid(path) != ext.uuid(store.image(IMAGE))


def test_limits_of_devices_are_written_for_systemd_alone_and_through_no_link(store, tmp_path):
    limit = "/etc/systemd/system/dev-{}.device.d/10-skerry.conf"
    files = system_folder(tmp_path / "linked")
    (files / "elsewhere").mkdir()
    (files / "etc/systemd/system/dev-sdb.device.d").symlink_to("/elsewhere")
    ext4(store.image(IMAGE), 32, files)
    path = deploy(store)
    assert seen(path, limit.format("ttyS0"))
    assert seen(path, "/elsewhere/10-skerry.conf") == b""
    (files / "usr/lib/systemd/systemd").unlink()
    ext4(store.image(IMAGE), 32, files)
    other = create(store, "other", size=64, image=IMAGE, hostname="web-1")
    assert seen(other, "/etc/hostname") == b"web-1\n"
    assert seen(other, limit.format("ttyS0")) == b""


def test_a_system_that_names_its_file_system_by_uuid_finds_it(store, tmp_path):
    files = system_folder(tmp_path / "named")
    (files / "etc/fstab").write_text("UUID=11111111-2222-4333-8444-555555555555 / ext4 defaults 0 1\n")
    ext4(store.image(IMAGE), 32, files, "-U", "11111111-2222-4333-8444-555555555555")
    path = create(store, size=64, image=IMAGE)
    assert seen(path, "/etc/fstab").decode() == f"UUID={ext.uuid(path)} / ext4 defaults 0 1\n"


def test_no_secret_is_left_next_to_the_disk(store):
    deploy(store, script="correct-horse")
    kept = [each for each in store.root.rglob("*") if each.is_file() and each.suffix != ".raw"]
    assert not any(HASH.encode() in each.read_bytes() or b"correct-horse" in each.read_bytes() for each in kept)


def test_making_a_disk_again_changes_nothing(store):
    path = deploy(store)
    before = path.stat()
    assert machine_disks.create_disk(store, machine_disks.NewDisk(MACHINE, DISK, 200, "ext4", IMAGE)).done
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert folder(store) == [f"{DISK}.raw"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"image": "test/other"}, "no such image"),
        ({"image": "skerry-image-9"}, "archive does not exist"),
        ({"image": "../../etc"}, "no such image|is not a"),
        ({"copy_of": (MACHINE, OTHER)}, "does not exist"),
        ({"image": IMAGE, "size": 31}, "needs 32 MB"),
        ({"image": IMAGE, "root_hash": "x\nroot::0"}, "hash"),
        ({"image": IMAGE, "hostname": "a\nb"}, "name"),
        ({"image": IMAGE, "authorized_keys": ["a\nb"]}, "one line"),
        ({"filesystem": "ntfs"}, "not a file system"),
    ],
)
def test_a_refused_disk_leaves_no_file(store, given, why):
    with pytest.raises(Refused, match=why):
        create(store, **given)
    assert not store.disk(MACHINE, DISK).exists()
    machine_disks.delete_disk(store, MACHINE, DISK)
    assert folder(store) == []


def test_a_disk_needs_its_machine(store):
    with pytest.raises(Refused):
        machine_disks.create_disk(store, machine_disks.NewDisk("skerry-8", DISK, 10, "raw"))
    assert not store.machine("skerry-8").exists()


@pytest.mark.parametrize("step", ["cp", "e2fsck", "tune2fs", "resize2fs", "debugfs -w", "rename"])
def test_making_may_be_killed_at_each_step_and_repeated(store, monkeypatch, step):
    class Killed(BaseException):
        pass

    def killing(function, hit):
        def wrapped(*arguments, **options):
            if hit(*arguments):
                raise Killed
            return function(*arguments, **options)

        return wrapped

    run = killing(commands.run, lambda *command: " ".join(map(str, command)).startswith(step))
    with monkeypatch.context() as patched:
        for module in (ext, trees, machine_disks):
            patched.setattr(module, "run", run)
        patched.setattr(machine_disks, "complete", killing(machine_disks.complete, lambda *_: step == "rename"))
        patched.setattr(sparse, "_cloned", killing(sparse._cloned, lambda *_: step == "cp"))
        with pytest.raises(Killed):
            machine_disks.make_disk(
                tasks.NoTask(), store, machine=MACHINE, disk=DISK, size=64, filesystem="ext4", image=IMAGE,
                root_hash=HASH, authorized_keys=[KEY], hostname="web-1", script="true",
            )  # fmt: skip
    assert machine_disks.disks(store, MACHINE) == [DISK], "half-made"
    assert machine_disks.disk_size(store, MACHINE, DISK) is None
    with pytest.raises(Failed) as caught:
        machine_disks.resize_disk(store, MACHINE, DISK, 100)
    assert not isinstance(caught.value, Refused)
    path = deploy(store, size=64)
    assert is_clean(path)
    assert folder(store) == [f"{DISK}.raw"]


# --- copies -------------------------------------------------------------------------------------------------------


def test_a_copy_is_the_same_byte_for_byte_and_as_sparse(store):
    path = deploy(store)
    copy = create(store, OTHER, copy_of=(MACHINE, DISK))
    assert program("cmp", path, copy) == b""
    assert allocated(copy) <= allocated(path)


def test_a_copy_of_a_half_changed_disk_has_the_earlier_content(store):
    path = create(store, size=64)
    ext._mark(path, back=True, size=64 * MB)
    os.truncate(path, 128 * MB)
    assert create(store, OTHER, size=64, copy_of=(MACHINE, DISK)).stat().st_size == 64 * MB


def test_a_disk_is_saved_as_small_as_it_can_be_and_deployed_again(store):
    path = deploy(store)
    finish(lambda: machine_disks.save_disk(store, MACHINE, DISK, ARCHIVE))
    saved = store.outgoing(ARCHIVE)
    size = saved.stat().st_size
    assert size < 100 * MB
    assert size % MB == 0
    assert is_clean(saved)
    assert machine_disks.save_disk(store, MACHINE, DISK, ARCHIVE).done
    store.incoming(ARCHIVE).parent.mkdir()
    saved.rename(store.incoming(ARCHIVE))
    with pytest.raises(Refused, match="needs"):
        create(store, OTHER, size // MB - 1, image=ARCHIVE)
    machine_disks.delete_disk(store, MACHINE, OTHER)
    again = create(store, OTHER, size // MB, image=ARCHIVE)
    assert seen(again, "/etc/shadow") == seen(path, "/etc/shadow")
    assert ext.uuid(again) == ext.uuid(path)


def test_a_damaged_disk_is_saved_and_deployed_as_it_is(store):
    path = create(store, size=64)
    with path.open("r+b") as file:
        file.seek(1024 + 40)
        file.write(bytes(4))  # inodes per group
    finish(lambda: machine_disks.save_disk(store, MACHINE, DISK, ARCHIVE))
    store.incoming(ARCHIVE).parent.mkdir()
    store.outgoing(ARCHIVE).rename(store.incoming(ARCHIVE))
    program("cmp", path, create(store, OTHER, size=64, image=ARCHIVE))


def test_a_missing_disk_is_not_saved(store):
    with pytest.raises(Refused):
        machine_disks.save_disk(store, MACHINE, DISK, ARCHIVE)


# --- sizes --------------------------------------------------------------------------------------------------------


def resize(store: Store, size: int, disk: str = DISK) -> None:
    finish(lambda: machine_disks.resize_disk(store, MACHINE, disk, size))


def test_a_disk_is_resized_with_its_files(store):
    path = deploy(store)
    resize(store, 30_000)
    assert path.stat().st_size == 30_000 * MB
    assert ext.has_filled(path)
    resize(store, 300)
    assert path.stat().st_size == 300 * MB
    assert is_clean(path)
    assert machine_disks.resize_disk(store, MACHINE, DISK, 300).done
    assert folder(store) == [f"{DISK}.raw"]


def test_a_disk_is_not_made_smaller_than_its_files_and_a_retry_says_so_again(store):
    path = deploy(store)
    for _ in range(2):
        with pytest.raises(Refused, match=r"need \d+ MB"):
            resize(store, 1)
    assert path.stat().st_size == 200 * MB


def test_a_swap_disk_keeps_its_name_in_any_size(store):
    path = create(store, filesystem="swap", size=512)
    before = machine_disks._identity(path)
    for size in (100, 700):
        resize(store, size)
        assert path.stat().st_size == size * MB
        assert machine_disks._identity(path) == before
        assert machine_disks._is_resized(path, size * MB)


def test_a_disk_of_unknown_content_loses_nothing_that_was_written(store):
    path = create(store, filesystem="raw", size=100)
    with path.open("r+b") as file:
        file.seek(50 * MB)
        file.write(b"data")
    resize(store, 60)
    resize(store, 100)
    with pytest.raises(Refused):
        resize(store, 50)
    with path.open("rb") as file:
        file.seek(50 * MB)
        assert file.read(4) == b"data"


def test_a_resize_that_died_is_finished_by_the_next(store):
    path = create(store, size=64)
    ext._mark(path, back=True, size=64 * MB)
    os.truncate(path, 128 * MB)
    resize(store, 128)
    assert ext.has_filled(path)
    assert is_clean(path)
    assert folder(store) == [f"{DISK}.raw"]


def test_a_missing_disk_is_not_resized(store):
    with pytest.raises(Refused):
        machine_disks.resize_disk(store, MACHINE, DISK, 100)


# --- the system on it ---------------------------------------------------------------------------------------------


def test_a_password_is_set_after_the_journal_is_replayed(store):
    path = deploy(store)
    leave_journal(path)
    other = HASH.replace("x", "y")
    for _ in range(2):
        machine_disks.set_password(store, MACHINE, DISK, other)
    assert seen(path, "/etc/shadow").decode().split(":")[1] == other
    assert is_clean(path)
    assert folder(store) == [f"{DISK}.raw"]


@pytest.mark.parametrize("filesystem", ["swap", "raw", "ext4"])
def test_a_password_needs_a_system(store, filesystem):
    create(store, filesystem=filesystem, size=64)
    with pytest.raises(Refused, match="no system"):
        machine_disks.set_password(store, MACHINE, DISK, HASH)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_password_set_half_is_settled(store, monkeypatch, when):
    path = deploy(store)

    class Killed(BaseException):
        pass

    def killed(*command, **options):
        if command[:2] == ("debugfs", "-w"):
            if when == "after":
                commands.run(*command, **options)
            raise Killed
        return commands.run(*command, **options)

    with monkeypatch.context() as patched:
        patched.setattr(trees, "run", killed)
        with pytest.raises(Killed):
            machine_disks.set_password(store, MACHINE, DISK, HASH.replace("x", "y"))
    assert ext.mark(path).exists()
    assert machine_disks.prepare(store, MACHINE, DISK) is None
    assert seen(path, "/etc/shadow").decode().split(":")[1] == HASH
    assert folder(store) == [f"{DISK}.raw"]
    assert is_clean(path)


@pytest.mark.parametrize(
    "attack",
    [
        ["rm /etc/shadow", "symlink /etc/shadow /srv/data"],
        ["rm /etc/shadow", "mknod /etc/shadow c 1 3"],
        ["rm /etc/shadow", "mknod /etc/shadow p"],
        ["rm /etc/shadow", "mkdir /etc/shadow"],
    ],
)
def test_a_system_that_leads_elsewhere_is_refused(store, attack):
    path = deploy(store)
    program("debugfs", "-w", "-f", "-", path, given="\n".join(attack).encode())
    before = seen(path, "/srv/data")
    with pytest.raises(Refused):
        machine_disks.set_password(store, MACHINE, DISK, HASH.replace("x", "y"))
    assert seen(path, "/srv/data") == before
    assert folder(store) == [f"{DISK}.raw"]


def test_a_symbolic_link_in_the_path_is_refused(store, tmp_path):
    files = system_folder(tmp_path / "linked")
    outside = tmp_path / "outside"
    outside.mkdir()
    (files / "root").mkdir()
    (files / "root" / ".ssh").symlink_to(outside)
    ext4(store.image(IMAGE), 32, files)
    with pytest.raises(Refused, match=r"/root/.ssh is a symlink"):
        deploy(store, size=64)
    assert list(outside.iterdir()) == []


def test_a_link_that_says_it_is_a_file_is_still_a_link(store):
    """debugfs prints the link's target, which could look like its output for a file."""
    path = deploy(store)
    lie = "Inode:_5___Type:_regular____Mode:__0600"
    program("debugfs", "-w", "-f", "-", path, given=f"rm /etc/shadow\nsymlink /etc/shadow {lie}\n".encode())
    with pytest.raises(Refused, match="symlink"):
        machine_disks.set_password(store, MACHINE, DISK, HASH)


def test_a_full_disk_is_refused_and_as_it_was(store):
    path = create(store, size=32, image=IMAGE, root_hash=HASH)
    with pytest.raises(Refused, match="full"), machine_disks.edited(path) as tree:
        tree.put("/srv/more", os.urandom(40 * MB))
    assert is_clean(path)
    assert "File not found" in debugfs_errors(path, "stat /srv/more")


def debugfs_errors(path: Path, command: str) -> str:
    return commands.run("debugfs", "-R", command, str(path)).stderr


def test_a_boot_writes_the_network_of_ifupdown(store):
    path = deploy(store)
    for _ in range(2):
        assert machine_disks.prepare(store, MACHINE, DISK, [NETWORK]) is None
    written = seen(path, "/etc/network/interfaces").decode()
    assert "ip -4 addr add 198.18.0.7/32 dev eth0" in written
    assert "ip -6 route add default via fe80::1 dev eth0" in written
    assert seen(path, "/etc/resolv.conf").endswith(RESOLVERS)
    assert is_clean(path)
    changed = path.stat().st_mtime_ns
    assert machine_disks.prepare(store, MACHINE, DISK, [NETWORK]) is None
    assert "198.18.0.7" in seen(path, "/etc/network/interfaces").decode()
    assert path.stat().st_mtime_ns == changed or is_clean(path)


def test_a_boot_writes_the_network_of_networkd(store, tmp_path):
    files = system_folder(tmp_path / "networkd")
    wants = files / "etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
    wants.symlink_to("/usr/lib/systemd/system/systemd-networkd.service")
    (files / "etc/resolv.conf").symlink_to("../run/systemd/resolve/stub-resolv.conf")
    ext4(store.image(IMAGE), 32, files)
    path = deploy(store, size=64)
    assert machine_disks.prepare(store, MACHINE, DISK, [NETWORK]) is None
    written = seen(path, "/etc/systemd/network/05-skerry-eth0.network").decode()
    assert "MACAddress=f2:3c:00:00:00:07" in written
    assert "Gateway=fe80::1\nGatewayOnLink=yes" in written
    assert "DNS=198.18.0.2\nDNS=2001:db8::53\n" in written
    assert "symlink" in stat_of(path, "/etc/resolv.conf"), "a service of the system writes it"


def test_a_changed_system_does_not_prevent_the_boot(store):
    path = deploy(store)
    program("debugfs", "-w", "-f", "-", path, given=b"rm /sbin/ifup\n")
    assert "network" in str(machine_disks.prepare(store, MACHINE, DISK, [NETWORK]))
    swap = create(store, OTHER, filesystem="swap", size=64)
    assert "no system" in str(machine_disks.prepare(store, MACHINE, OTHER, [NETWORK]))
    assert machine_disks.is_swap(swap)


def test_a_check_that_takes_too_long_does_not_keep_a_machine_from_booting(store, monkeypatch):
    deploy(store)

    def slow(path, whole=True, timeout=None):
        raise commands.TimedOut("e2fsck", timeout)

    monkeypatch.setattr(ext, "check", slow)
    assert "took longer" in str(machine_disks.prepare(store, MACHINE, DISK, [NETWORK]))


def test_a_network_of_nonsense_is_refused():
    for nonsense in (
        {"addresses": ["198.18.0.7; reboot"]},
        {"resolvers": ["1.1.1"]},
        {"name": "eth0\n"},
        {"mac": "x"},
    ):
        with pytest.raises(Refused):
            machine_disks.systems.Network.read({**NETWORK, **nonsense})


# --- deleting, and use --------------------------------------------------------------------------------------------


def test_deleting_may_be_repeated_and_leaves_nothing(store):
    path = create(store)
    ext._mark(path, back=True, size=1)
    path.with_suffix(".undo").touch()
    path.with_suffix(".part").touch()
    for _ in range(2):
        machine_disks.delete_disk(store, MACHINE, DISK)
    assert folder(store) == []
    assert list(store.tasks().iterdir()) == []
    assert machine_disks.disks(store, MACHINE) == []
    assert machine_disks.disks(store, "skerry-8") == []


def test_a_disk_in_use_is_copied_by_its_machine(store, monkeypatch):
    """The machine's QEMU copies the disk, as of one moment. No other process reads the disk."""
    create(store, size=64)
    asked = []

    def copy_running(store, machine, disk, target, report):
        asked.append((machine, disk, target.stat().st_size))

    monkeypatch.setattr(machine_disks, "copy_running", copy_running)
    monkeypatch.setattr(machine_disks.locks, "is_in_use", lambda path: True)
    new = machine_disks.NewDisk(MACHINE, OTHER, 64, "ext4", copy_of=(MACHINE, DISK))
    machine_disks.make_disk(tasks.NoTask(), store, **asdict(new))
    assert asked == [(MACHINE, DISK, 64 * MB)]


def test_the_tasks_of_a_machine_are_ended_with_it(store):
    create(store)
    assert [each.name for each in store.tasks().iterdir()] == [f"disk.{MACHINE}.{DISK}"]
    machine_disks.end_tasks(store, MACHINE)
    assert list(store.tasks().iterdir()) == []


def test_calls_report_progress(store):
    assert isinstance(machine_disks.create_disk(store, machine_disks.NewDisk(MACHINE, DISK, 10, "raw")), Progress)
