"""The modules of a kernel, with their dependencies."""

import lzma
import re
from dataclasses import dataclass
from pathlib import Path

from compute.drivers.qemu.agent.commands import run
from compute.drivers.qemu.agent.errors import Failed

WANTED = (
    *("virtio_pci", "virtio_scsi", "sd_mod", "virtio_blk", "virtio_net", "virtio_rng"),
    *("ext4", "crc32c_generic", "button", "evdev", "autofs4", "af_packet"),
)
"""The modules for disks, network cards and the power button, and for systemd. Some kernels have them built in."""
OPTIONAL = {"crc32c_generic", "autofs4", "af_packet"}
_INFO = re.compile(rb"(?:^|\0)(depends|softdep)=([^\0]*)")


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    content: bytes

    def needs(self) -> list[str]:
        found = []
        for key, value in _INFO.findall(self.content):
            words = value.decode().replace(",", " ").split()
            if key == b"softdep":
                words = words[words.index("pre:") + 1 :] if "pre:" in words else []
                words = words[: words.index("post:")] if "post:" in words else words
            found += [_plain(each) for each in words]
        return found


def wanted(folder: Path) -> list[Module]:
    """The modules from ``lib/modules/<version>``, each after its dependencies. `Failed` if one is missing."""
    files = {_plain(path.name.partition(".ko")[0]): path for path in folder.rglob("*.ko*")}
    built_in = _built_in(folder)
    found: dict[str, Module] = {}

    def add(name: str, optional: bool) -> None:
        if name in found or name in built_in:
            return
        if name not in files:
            if optional:
                return
            raise Failed(f"The kernel has no {name}.")
        module = Module(name, _read(files[name]))
        for each in module.needs():
            add(each, optional=True)
        found[name] = module

    for name in WANTED:
        add(name, name in OPTIONAL)
    return list(found.values())


def _built_in(folder: Path) -> set[str]:
    listed = folder / "modules.builtin"
    lines = listed.read_text().splitlines() if listed.exists() else []
    return {_plain(Path(line).name.partition(".ko")[0]) for line in lines}


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _read(path: Path) -> bytes:
    """Read a module, and unpack it: BusyBox does not load compressed modules."""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        unpacked = path.with_suffix("")
        run("zstd", "-q", "-d", "-f", str(path), "-o", str(unpacked))
        return unpacked.read_bytes()
    return path.read_bytes()
