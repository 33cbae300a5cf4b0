"""Hosts that are reached by ssh: an sshd of the test on 127.0.0.1, each with a home, keys and a directory."""

import os
import pwd
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compute.drivers.base import Address, Options
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.driver import QemuDriver
from compute.drivers.qemu.host_setup import Operator
from compute.drivers.qemu.ssh import Ssh
from tests.compute.drivers.qemu.disk_files import needs
from tests.waiting import wait_for

SSHD = "/usr/sbin/sshd"
TIMEOUT = 120.0


def make_key(path: Path) -> str:
    """Create a key pair. Returns the public key, without a comment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
    return " ".join(path.with_suffix(".pub").read_text().split()[:2])


class SshHost:
    """A host, which can be killed and started again, also with another key."""

    def __init__(self, folder: Path, name: str, operator: str, identity: Path, shared: Path):
        self.folder, self.name, self.identity, self.shared = folder, name, identity, shared
        self.home = folder / "home"
        (self.home / ".ssh").mkdir(parents=True)
        self.keys = self.home / ".ssh" / "authorized_keys"
        self.keys.write_text(f"{operator}\n")
        self.host_key = make_key(folder / "host")
        self.port = _free_port()
        self.root = folder / "skerry"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def location(self) -> str:
        return f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{self.port}{self.root}"

    @property
    def store(self) -> Store:
        return Store(self.root, self.shared)

    @property
    def address(self) -> Address:
        return Address(self.name, "qemu", self.location, str(self.shared), self.host_key)

    @property
    def options(self) -> Options:
        return Options(TIMEOUT, str(self.folder.parent / "archives"), identity=str(self.identity))

    @property
    def administrator(self) -> Operator:
        return Operator(
            self.location, str(self.shared), self.host_key, str(self.folder.parent / "operator" / "key")
        )

    @property
    def driver(self) -> QemuDriver:
        return QemuDriver(self.address, self.options)

    @property
    def agent(self) -> Ssh:
        return Ssh(self.address, self.options)

    def start(self) -> None:
        config = self.folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder / 'host'}\nPidFile none\n"
            f"AuthorizedKeysFile {self.keys}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nSetEnv HOME={self.home}\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        wait_for(self._listens, 60)

    def kill(self) -> None:
        """End like a host that loses its power: kill the daemon and its children, which serve connections."""
        assert self.process is not None
        for pid in [*_below(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        self.process.wait()
        self.process = None

    def change_key(self) -> None:
        """Start again as another machine with the same address."""
        self.kill()
        for name in ("host", "host.pub"):
            (self.folder / name).unlink()
        make_key(self.folder / "host")
        self.start()

    def end(self) -> None:
        self.agent.close()
        if self.process is not None:
            self.kill()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def ssh_hosts(folder: Path, *names: str) -> Iterator[list[SshHost]]:
    """Yield hosts that their operator can reach. The platform cannot reach them yet."""
    needs("sshd", "ssh", "ssh-keygen")
    operator = make_key(folder / "operator" / "key")
    make_key(folder / "ssh" / "identity")
    (folder / "shared" / "volumes").mkdir(parents=True)
    made: list[SshHost] = []
    try:
        for name in names:
            host = SshHost(folder / name, name, operator, folder / "ssh" / "identity", folder / "shared")
            made.append(host)
            host.start()
        yield made
    finally:
        for host in made:
            host.end()


def public(identity: Path) -> str:
    return identity.with_suffix(".pub").read_text().strip()


def _below(pid: int) -> list[int]:
    """Return the children of a process, and their children."""
    try:
        found = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [each for child in found for each in (*_below(child), child)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
