"""Debian systems as images: the changes to what the packages installed."""

import os
from pathlib import Path

import pytest

from compute.drivers.qemu import building
from compute.drivers.qemu.agent.disks import ext
from compute.drivers.qemu.building import SYSTEMS, NotBuilt, build, generalise
from tests.compute.drivers.qemu.disk_files import needs, seen, stat_of

NUMBER = "6f9b1b5e-7f3d-4a53-9d58-b2e5b2f6e0a1"
# Stands in for the program of that name: it makes a system with files that belong to one machine alone.
FAKE = """\
#!/bin/sh
echo "$@" >"$(dirname "$0")/asked"
for word in "$@"; do case $word in */root) root=$word ;; esac; done
mkdir -p $root/etc/ssh $root/var/lib/dbus $root/var/cache/apt/archives
echo 'root:*:19000:0:99999:7:::' >$root/etc/shadow
echo secret >$root/etc/ssh/ssh_host_ed25519_key
echo 0123 >$root/etc/machine-id
echo large >$root/var/cache/apt/archives/some.deb
ln -s /run/systemd/resolve/stub-resolv.conf $root/etc/resolv.conf
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for programs that stand in for others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(building.os, "geteuid", lambda: 0)
    return folder


def put_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def test_a_system_becomes_one_that_many_machines_are_made_of(tmp_path):
    root = tmp_path / "root"
    for name in ("etc/ssh/ssh_host_rsa_key", "etc/ssh/ssh_host_rsa_key.pub", "var/lib/dbus/machine-id"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("one machine's")
    for _ in range(2):
        generalise(root, NUMBER)
    assert not [path for path in root.rglob("*") if path.is_file() and path.read_text() == "one machine's"]
    assert (root / "etc/machine-id").read_text() == ""
    assert (root / "etc/fstab").read_text().startswith(f"UUID={NUMBER} / ext4 ")
    for name, target in building.LINKS.items():
        assert os.readlink(root / name) == target


def test_the_file_is_one_ext4_that_can_grow(programs, tmp_path):
    needs("mke2fs")
    put_program(programs, "mmdebstrap", FAKE)
    target = tmp_path / "disk"
    build(SYSTEMS["debian-13"], target, "http://mirror.example/debian", ["tmux"])
    asked = (programs / "asked").read_text().split()
    assert asked[-3] == "trixie"
    assert asked[-1] == "http://mirror.example/debian"
    assert any(word.startswith("--include=") and word.endswith(",tmux") for word in asked)
    assert ext.is_ext(target)
    assert seen(target, "/etc/ssh/sshd_config.d/50-root.conf") == b"PermitRootLogin yes\n"
    assert "regular" in stat_of(target, "/etc/resolv.conf"), "the platform writes it at each boot"
    assert seen(target, "/etc/fstab").split()[0].decode() == f"UUID={ext.uuid(target)}"
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["programs"], "nothing is left"


def test_a_system_that_cannot_be_built_leaves_nothing(programs, tmp_path):
    put_program(programs, "mmdebstrap", "#!/bin/sh\necho E: no such release >&2\nexit 25\n")
    with pytest.raises(NotBuilt, match="no such release"):
        build(SYSTEMS["debian-13"], tmp_path / "disk")
    assert [path.name for path in tmp_path.iterdir()] == ["programs"]


def test_missing_programs_are_named(programs, tmp_path, monkeypatch):
    monkeypatch.setattr(building.shutil, "which", lambda name: None)
    with pytest.raises(NotBuilt, match="apt-get install mmdebstrap"):
        build(SYSTEMS["debian-13"], tmp_path / "disk")
    monkeypatch.setattr(building.os, "geteuid", lambda: 1000)
    with pytest.raises(NotBuilt, match="as root"):
        build(SYSTEMS["debian-13"], tmp_path / "disk")


def test_debootstrap_serves_where_there_is_no_other(programs, tmp_path, monkeypatch):
    needs("mke2fs")
    monkeypatch.setattr(building.shutil, "which", lambda name: None if name == "mmdebstrap" else name)
    put_program(programs, "debootstrap", FAKE)
    build(SYSTEMS["debian-12"], tmp_path / "disk")
    assert (programs / "asked").read_text().split()[-2] == "bookworm"
