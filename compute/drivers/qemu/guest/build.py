"""Building the tiny guest: ``kernels/default`` and the image ``compute/tiny`` of a host."""

import gzip
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compute.drivers.qemu.agent import locks, records
from compute.drivers.qemu.agent.commands import run
from compute.drivers.qemu.agent.disks import ext, machine_disks
from compute.drivers.qemu.agent.disks.ext import MB
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.guest.cpio import Archive, mode_of
from compute.drivers.qemu.guest.modules import Module, wanted
from compute.drivers.qemu.guest.packages import SHELL, SSH, Packages

HERE = Path(__file__).parent
IMAGE = "compute/tiny"
KERNEL = "default"
NOTE = "built.json"
LOCK_SECONDS = 600.0
"""Seconds to wait for another process that builds the guest."""
SIZE = 48 * MB
FOLDERS = (
    "dev", "proc", "sys", "run", "tmp", "mnt", "srv", "home", "root", "usr/local/bin", "usr/local/lib", "usr/bin",
    "var/log", "etc/local.d", "etc/dropbear", "etc/network/if-up.d", "etc/network/if-down.d",
    "etc/network/if-pre-up.d", "etc/network/if-post-down.d",
)  # fmt: skip
OF_THE_SYSTEM = {
    *("acpid", "getty", "halt", "ifconfig", "ifdown", "ifup", "init", "insmod", "ip", "klogd", "losetup", "lsmod"),
    *("mdev", "mkswap", "modprobe", "poweroff", "reboot", "rmmod", "swapoff", "swapon", "sysctl", "udhcpc"),
}
"""The commands of BusyBox in /sbin; the others are in /bin."""


def build(store: Store) -> list[Path]:
    """Build the kernel and the image if they are missing or were built from other sources. Return their files.

    Raises `Failed` if the packages are not available.
    """
    kernel, image = store.kernels() / KERNEL, store.image(IMAGE)
    store.root.mkdir(parents=True, exist_ok=True)
    with (
        locks.lock_file(store.root / "guest.lock", LOCK_SECONDS),
        tempfile.TemporaryDirectory(dir=store.root) as folder,
    ):
        work, built = Path(folder), _digest()
        lacks_kernel = records.read(kernel / NOTE) != {"built": built}
        lacks_image = not image.exists() or (records.read(image.with_suffix(".json")) or {}).get("built") != built
        if lacks_kernel or lacks_image:
            packages = Packages(store.root / "packages")
            packages.unpack([SHELL], work / "shell")
            busybox = next(iter(_files(work / "shell", "bin/busybox", "usr/bin/busybox")))
            if lacks_kernel:
                packages.unpack(packages.kernel(), work / "kernel")
                _make_kernel(work / "kernel", busybox, kernel, built)
            if lacks_image:
                packages.unpack(packages.with_libraries(SSH), work / "ssh")
                _make_image(work, busybox, image, built)
    return [kernel / "vmlinuz", kernel / "initrd", image]


def _digest() -> str:
    """The digest of all sources of the guest in this folder."""
    found = hashlib.sha256()
    for path in sorted(HERE.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            found.update(f"{path.relative_to(HERE)}\n".encode() + path.read_bytes())
    return found.hexdigest()


def _make_kernel(unpacked: Path, busybox: Path, target: Path, built: str) -> None:
    """Make the kernel and the initrd with its modules, and replace the folder as a whole."""
    vmlinuz = next(iter(_files(unpacked, "boot/vmlinuz-*")))
    version = vmlinuz.name.removeprefix("vmlinuz-")
    folder = next(iter(_files(unpacked, f"lib/modules/{version}", f"usr/lib/modules/{version}")))
    part = target.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    shutil.copyfile(vmlinuz, part / "vmlinuz")
    (part / "initrd").write_bytes(gzip.compress(_initrd(busybox, wanted(folder)), 6, mtime=0))
    (part / "version").write_text(f"{version}\n")
    records.write(part / NOTE, {"built": built})
    old = target.with_suffix(".old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    part.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _initrd(busybox: Path, modules: list[Module]) -> bytes:
    archive = Archive()
    for name in ("dev", "proc", "sys", "newroot", "tmp", "mnt", "var/run", "var/log"):
        archive.folder(name)
    archive.device("dev/console", 5, 1)
    archive.file("bin/busybox", busybox.read_bytes(), 0o755)
    archive.link("bin/sh", "busybox")
    for module in modules:
        archive.file(f"modules/{module.name}.ko", module.content)
    names = " ".join(f"{module.name}.ko" for module in modules)
    init = (HERE / "init").read_text()
    archive.file("init", re.sub(r"(?m)^for module in MODULES;", f"for module in {names};", init).encode(), 0o755)
    archive.tree(HERE / "root", "", "etc/acpid.conf", "etc/acpi/PWRF/00000080")
    archive.tree(HERE / "rescue", "etc", "inittab", "rescue")
    archive.file("lease", (HERE / "root/usr/share/udhcpc/default.script").read_bytes(), 0o755)
    return archive.content()


def _make_image(work: Path, busybox: Path, target: Path, built: str) -> None:
    root = work / "root"
    for name in FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for path in sorted((HERE / "root").rglob("*")):
        if path.is_file():
            _put(root / path.relative_to(HERE / "root"), path.read_bytes())
    (root / "var/run").symlink_to("/run")
    _put_shell(root, busybox)
    _put_ssh(root, work / "ssh")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = machine_disks.begun(target)
    with part.open("xb") as file:
        file.truncate(SIZE)
    options = f"root_owner=0:0,resize={ext.GROWTH}"
    run("mke2fs", "-q", "-t", "ext4", "-b", str(ext.BLOCK), "-m", "0", "-E", options, "-d", str(root), str(part))
    _own(part, root)
    ext.check(part)
    records.write(target.with_suffix(".json"), {"os": "Tiny, a guest for trials", "built": built})
    machine_disks.complete(part, target)


def _put_shell(root: Path, busybox: Path) -> None:
    _put(root / "bin/busybox", busybox.read_bytes(), 0o755)
    for name in run(str(busybox), "--list").stdout.split():
        folder = "sbin" if name in OF_THE_SYSTEM else "bin"
        (root / folder).mkdir(exist_ok=True)
        if name != "busybox":
            (root / folder / name).symlink_to("/bin/busybox")


def _put_ssh(root: Path, unpacked: Path) -> None:
    """Add Dropbear, and the libraries that the loader of the packages finds for it."""
    libraries = sorted({path.parent for path in unpacked.rglob("lib*.so*")})
    loader = next(iter(_files(unpacked, "lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2",
                              "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
                              "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")))  # fmt: skip
    _put(root / "lib64/ld-linux-x86-64.so.2", loader.read_bytes(), 0o755)
    for name in ("usr/sbin/dropbear", "usr/bin/dropbearkey"):
        program = unpacked / name
        _put(root / name, program.read_bytes(), 0o755)
        output = run(str(loader), "--library-path", ":".join(map(str, libraries)), "--list", str(program)).stdout
        for library in re.findall(r"=> (/\S+)", output):
            if not Path(library).is_relative_to(unpacked):
                raise Failed(f"{SSH} needs {library}, which none of its packages has.")
            _put(root / "lib/x86_64-linux-gnu" / Path(library).name, Path(library).read_bytes(), 0o755)


def _put(path: Path, content: bytes, mode: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    name = str(path).rpartition("/root/")[2]
    path.chmod(mode_of(name, content) if mode is None else mode)


def _own(image: Path, root: Path) -> None:
    """Make root the owner of all files, since any user may build the guest."""
    names = [f"/{path.relative_to(root)}" for path in sorted(root.rglob("*"))]
    commands = [f'sif "{name}" {field} 0' for name in names for field in ("uid", "gid")]
    commands += ["sif /root mode 040700", "sif /tmp mode 041777"]
    run("debugfs", "-w", "-f", "-", str(image), given="".join(f"{each}\n" for each in commands))


def _files(folder: Path, *patterns: str) -> Iterator[Path]:
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    if not found:
        raise Failed(f"The packages have no {patterns[0]}.")
    yield from found
