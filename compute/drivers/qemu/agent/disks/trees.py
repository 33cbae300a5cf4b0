"""The files of a system on a disk, read and written by debugfs without mounting the disk.

debugfs reports success even if it failed, and follows symbolic links of the guest. So the type of every part of a
path is checked, symbolic links are refused, and written files are read back.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compute.drivers.qemu.agent.commands import run
from compute.drivers.qemu.agent.errors import Failed, Refused

MAX_FILE_BYTES = 1 << 20
"""The maximum size in bytes of a file that is read."""
PART = re.compile(r"[A-Za-z0-9._@+-]{1,100}")
_STAT = re.compile(
    r"Inode: \d+\s+Type: (\w[\w ]*?)\s+Mode:\s+(\d+).*?User:\s+(\d+)\s+Group:\s+(\d+).*?Size: (\d+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Entry:
    type: str
    mode: int
    uid: int
    gid: int
    size: int


@dataclass(frozen=True, slots=True)
class _Put:
    content: bytes
    mode: int
    uid: int
    gid: int


class Tree:
    """The files on a locked disk with a checked file system. Changes stay in memory until `commit`."""

    def __init__(self, disk: Path, timeout: float | None = None):
        self._disk = disk
        self._timeout = timeout
        self._seen: dict[str, Entry | None] = {"/": Entry("directory", 0o755, 0, 0, 0)}
        self._folders: dict[str, int] = {}
        self._files: dict[str, _Put] = {}
        self._links: dict[str, str] = {}
        self._removed: set[str] = set()

    def entry(self, name: str) -> Entry | None:
        """Return the entry at an absolute path; None if there is none. `Refused` if a parent is not a directory."""
        if name not in self._seen:
            parent, _, last = name.rpartition("/")
            if not PART.fullmatch(last) or last in (".", ".."):
                raise Refused(f"{name!r:.100} is not a path that the platform can use.")
            above = self.entry(parent or "/")
            if above is not None and above.type != "directory":
                raise Refused(f"{parent} is a {above.type} on this disk, not a directory.")
            self._seen[name] = None if above is None else self._stat(name)
        return self._seen[name]

    def is_there(self, *names: str) -> bool:
        """Tell whether one of the paths exists, with any type of file. Symbolic links are not followed."""
        for name in names:
            with suppress(Refused):
                if self.entry(name) is not None:
                    return True
        return False

    def read(self, name: str) -> bytes | None:
        """Return a regular file's content; None if it is missing. `Refused` for other types and large files."""
        entry = self._regular(name)
        if entry is None:
            return None
        if entry.size > MAX_FILE_BYTES:
            raise Refused(f"{name} on this disk is too large.")
        return self._dump(name)

    def put(self, name: str, content: bytes, mode: int | None = None, folders: int = 0o755) -> None:
        """Write a regular file. An existing file keeps its owner, and its mode unless a `mode` is given.

        Missing parent directories are made with the mode `folders`.
        """
        entry = self._regular(name)
        if entry is not None and self.read(name) == content and mode in (None, entry.mode):
            return
        self._make_folders(name, folders)
        self._files[name] = _Put(
            content,
            mode if mode is not None else entry.mode if entry else 0o644,
            entry.uid if entry else 0,
            entry.gid if entry else 0,
        )

    def link(self, name: str, target: str) -> None:
        """Make a symbolic link, unless the path exists."""
        if self.entry(name) is None:
            self._make_folders(name, 0o755)
            self._links[name] = target

    def remove(self, name: str) -> None:
        """Remove a regular file, if it exists."""
        if self._regular(name) is not None:
            self._removed.add(name)

    @property
    def is_changed(self) -> bool:
        return bool(self._files or self._links or self._removed or self._folders)

    def commit(self, undo: Path | None = None) -> None:
        """Write the changes, and read them back. `undo` is the undo file of `ext.revocable`.

        Raises `Refused` if a change is missing afterwards: the disk is full, or its file system damaged.
        """
        opened: list[int] = []
        try:
            commands = self._commands(opened)
            given = "".join(f"{each}\n" for each in commands)
            more = () if undo is None else ("-z", str(undo))
            run(
                "debugfs", "-w", *more, "-f", "-", str(self._disk),
                given=given, files=opened, timeout=self._timeout,
            )  # fmt: skip
        finally:
            for descriptor in opened:
                os.close(descriptor)
        self._seen = {"/": self._seen["/"]}
        if not self._is_written():
            raise Refused("The system on the disk cannot be changed: it may be full.")
        self._folders, self._files, self._links, self._removed = {}, {}, {}, set()

    def _commands(self, opened: list[int]) -> list[str]:
        commands = []
        for name, mode in self._folders.items():
            commands += [f"mkdir {name}", f"sif {name} mode 040{mode:03o}"]
        commands += [f"rm {name}" for name in sorted(self._removed)]
        for name, put in self._files.items():
            if self._seen[name] is not None:
                commands.append(f"rm {name}")
            descriptor = os.memfd_create("content")
            opened.append(descriptor)
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(put.content)
            commands += [
                f"write /proc/self/fd/{descriptor} {name}",
                f"sif {name} mode 0100{put.mode:03o}",
                f"sif {name} uid {put.uid}",
                f"sif {name} gid {put.gid}",
            ]
        return commands + [f"symlink {name} {target}" for name, target in self._links.items()]

    def _is_written(self) -> bool:
        for name in self._removed:
            if self.entry(name) is not None:
                return False
        for name in self._links:
            made = self.entry(name)
            if made is None or made.type != "symlink":
                return False
        for name, put in self._files.items():
            entry = self.entry(name)
            wanted = Entry("regular", put.mode, put.uid, put.gid, len(put.content))
            if entry != wanted or self._dump(name) != put.content:
                return False
        return True

    def _make_folders(self, name: str, mode: int) -> None:
        parts = name.split("/")[1:-1]
        for count in range(1, len(parts) + 1):
            folder = "/" + "/".join(parts[:count])
            if self.entry(folder) is None:
                self._folders.setdefault(folder, mode)

    def _regular(self, name: str) -> Entry | None:
        entry = self.entry(name)
        if entry is not None and entry.type != "regular":
            raise Refused(f"{name} is a {entry.type} on this disk, not a file.")
        return entry

    def _stat(self, name: str) -> Entry | None:
        done = run("debugfs", "-R", f"stat {name}", str(self._disk), timeout=self._timeout)
        found = _STAT.match(done.stdout)
        if found:
            kind, mode, uid, gid, size = found.groups()
            return Entry(kind, int(mode, 8) & 0o7777, int(uid), int(gid), int(size))
        if "File not found" in done.stderr:
            return None
        raise Refused("The file system on the disk cannot be read by this host.")

    def _dump(self, name: str) -> bytes:
        descriptor = os.memfd_create("content")
        try:
            target = f"/proc/self/fd/{descriptor}"
            run(
                "debugfs",
                "-R",
                f"dump {name} {target}",
                str(self._disk),
                files=(descriptor,),
                timeout=self._timeout,
            )
            with os.fdopen(os.dup(descriptor), "rb") as file:
                file.seek(0)
                return file.read()
        except OSError as error:
            raise Failed("A file on the disk could not be read.") from error
        finally:
            os.close(descriptor)
