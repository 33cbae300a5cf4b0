"""Archives for an initrd, which a kernel unpacks before it has a disk (cpio, format "newc")."""

from collections.abc import Iterator
from pathlib import Path

FILE, FOLDER, LINK, DEVICE = 0o100000, 0o040000, 0o120000, 0o020000


class Archive:
    """An archive in which all files belong to root. Missing folders are added."""

    def __init__(self) -> None:
        self._members: dict[str, tuple[int, bytes, tuple[int, int]]] = {}

    def folder(self, name: str) -> None:
        parts = name.strip("/").split("/")
        for count in range(1, len(parts) + 1):
            self._members.setdefault("/".join(parts[:count]), (FOLDER | 0o755, b"", (0, 0)))

    def file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        self._add(name, FILE | mode, content)

    def link(self, name: str, target: str) -> None:
        self._add(name, LINK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int) -> None:
        self._add(name, DEVICE | 0o600, b"", (major, minor))

    def tree(self, folder: Path, name: str, *only: str) -> None:
        """Add the files named `only` from a folder."""
        for each in only:
            content = (folder / each).read_bytes()
            self.file(f"{name}/{each}", content, mode_of(each, content))

    def content(self) -> bytes:
        return b"".join(self._blocks())

    def _add(self, name: str, mode: int, content: bytes, device: tuple[int, int] = (0, 0)) -> None:
        name = name.strip("/")
        if "/" in name:
            self.folder(name.rpartition("/")[0])
        self._members[name] = (mode, content, device)

    def _blocks(self) -> Iterator[bytes]:
        for number, (name, (mode, content, device)) in enumerate(self._members.items(), 1):
            yield _member(number, name, mode, content, device)
        yield _member(0, "TRAILER!!!", 0, b"", (0, 0))


def mode_of(name: str, content: bytes) -> int:
    """The mode of one of our files in a guest. git stores only whether a file is executable."""
    if name == "etc/shadow":
        return 0o600
    return 0o755 if content.startswith(b"#!") else 0o644


def _member(number: int, name: str, mode: int, content: bytes, device: tuple[int, int]) -> bytes:
    encoded = name.encode() + b"\0"
    links = 2 if mode & 0o170000 == FOLDER else 1
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, *device, len(encoded), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(head + encoded) + _padded(content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)
