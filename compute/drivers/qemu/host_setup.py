"""The setup of a host by the operator's ssh: the host gets the agent, a guest and the platform's key.

The operator is root on the host. Workers may later use only the verbs of `agent.serving.agent_program`. They cannot
install another agent, because that would allow them to run any program.
"""

import json
import re
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compute.drivers.base import DriverError
from compute.drivers.qemu.agent.serving.agent_program import AGENT
from compute.drivers.qemu.bundle import bundle
from compute.drivers.qemu.ssh import Place, options, pinned

SCAN, CHECK, COPY = 20.0, 600.0, 3600.0
"""Seconds for reading a host's key, for the trial boots of its check, and for copying a guest and images."""
GUEST = ("kernels", "images")
NO_GUEST = "Run `make guest`, which builds both: `host_add` copies them to a host that it reaches by ssh."


class NotJoined(DriverError):
    """The host could not be reached, or lacks something that the platform needs. The text is for the operator."""


def scan(location: str) -> str:
    """Return the public key that a host presents now. The operator has to compare the fingerprint.

    Raises `DriverError`.
    """
    place = Place.of(location)
    command = ["ssh-keyscan", "-T", "10", "-p", str(place.port), "-t", "ed25519,ecdsa,rsa", "--", place.machine]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SCAN, check=False)  # noqa: S603
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise NotJoined(f"{place.machine}: ssh-keyscan cannot read the key of this machine.") from error
    found = [line.split()[1:3] for line in done.stdout.splitlines() if line and not line.startswith("#")]
    if not found:
        # ssh-keyscan asks once for each type of key, and repeats its error as often
        lines = dict.fromkeys(line.strip() for line in done.stderr.splitlines() if not line.startswith("#"))
        reason = "; ".join(filter(None, lines))[-400:] or "it does not answer"
        raise NotJoined(
            f"{place.machine} does not present a key on port {place.port}: {reason}. Check the name and the port,"
            " that sshd runs there, and that no firewall is in between."
        )
    best = sorted(found, key=lambda key: ("ed25519" not in key[0], "ecdsa" not in key[0]))[0]
    return " ".join(best)


class Operator:
    """The operator's ssh connection to a host, with the operator's own ssh agent and keys.

    The host key has to be the pinned one. ssh may ask for a passphrase on the terminal.
    """

    def __init__(self, location: str, shared: str, host_key: str, identity: str = ""):
        self.place = Place.of(location)
        self.shared = shared
        self.host_key = host_key
        self.identity = ["-i", identity] if identity else []

    def join(self, key: str, guest: Path | None, user: str = "") -> dict[str, Any]:
        """Make a host ready for the platform's key, and return the result of `agent.hosts.check`.

        `guest` is a directory with kernels and images, for a host that has none. `user` is the user that QEMU runs
        as from the next boots on, which is added if missing. Each step may be repeated.
        """
        self.bring_agent()
        if user:
            self.confine(user)
        if guest is not None:
            self.bring_guest(guest)
        found = self.call("check", CHECK)
        self.admit(key)
        return found

    def bring_agent(self) -> None:
        """Install the agent of this release on the host, by rename."""
        root = self.place.root
        part = f"{root}/.{AGENT}.part"
        put = (
            f"umask 022 && mkdir -p {root} && cat >{part} && /usr/bin/python3 -I {part} install {root} && rm {part}"
        )
        self.run(put, given=bundle().content)

    def bring_guest(self, guest: Path) -> None:
        """Copy kernels and images to a host. Existing ones stay."""
        root = self.place.root
        for name in GUEST:
            if not (guest / name).is_dir():
                raise NotJoined(f"{guest} has no {name}: build the tiny guest there, with make guest.")
        lacking = [name for name in GUEST if not self.run(f"ls -A {root}/{name} 2>/dev/null || true").strip()]
        if not lacking:
            return
        part = f"{root}/.guest.part"
        take = " && ".join(f"rm -rf {root}/{name} && mv {part}/{name} {root}/{name}" for name in lacking)
        unpack = f"rm -rf {part} && mkdir -p {part} && tar -C {part} -xSf - && {take} && rmdir {part}"
        with subprocess.Popen(  # noqa: S603 - without a shell
            ["tar", "-C", str(guest), "--owner=0", "--group=0", "-cSf", "-", *lacking],  # noqa: S607
            stdout=subprocess.PIPE,
        ) as packed:
            self.run(unpack, given=packed.stdout, timeout=COPY)
        if packed.returncode:
            raise NotJoined(f"{guest} could not be read.")

    @contextmanager
    def uploaded_copy(self, file: Path) -> Iterator[str]:
        """Copy a file to the host for the duration of the block, and yield the path of the copy."""
        place = f"{self.place.root}/.given-{secrets.token_hex(8)}"
        try:
            with file.open("rb") as content:
                self.run(f"umask 077 && cat >{place}", given=content, timeout=COPY)
            yield place
        finally:
            self.run(f"rm -f {place}")

    def confine(self, user: str) -> None:
        """Set the user that QEMU runs as, and add this user if missing.

        Does nothing if the operator is not root on the host: then QEMU runs as the operator.
        """
        if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", user):
            raise NotJoined(f"{user!r:.40} is not a valid user name.")
        add = f"useradd --system --no-create-home --shell /usr/sbin/nologin {user}"
        confine = self._agent("confine", self.place.root, user)
        self.run(f'if [ "$(id -u)" = 0 ]; then id -u {user} >/dev/null 2>&1 || {add} && {confine}; fi')

    def have_route(self, private_network: str) -> None:
        """Make the host route to machines from their next boots on. Raises `NotJoined` if it cannot."""
        self.run(self._agent("route", self.place.root, private_network))

    def admit(self, key: str) -> None:
        """Allow the platform's key only the agent's verbs, in the directories of this host."""
        self.run(self._agent("admit", self.place.root, self.shared, key))

    def dismiss(self, key: str) -> None:
        """Revoke the permission of the platform's key."""
        self.run(self._agent("dismiss", key))

    def call(self, verb: str, timeout: float = CHECK, **values: Any) -> Any:
        """Call a verb of the agent as the host's administrator, and return the result. Raises `NotJoined`."""
        request = json.dumps({"verb": verb, "values": values}).encode()
        output = self.run(self._agent("administer", self.place.root, self.shared), request, timeout)
        answer = json.loads(output)
        if "result" not in answer:
            raise NotJoined(answer.get("refused") or answer.get("failed"))
        return answer["result"]

    def _agent(self, *arguments: str) -> str:
        return shlex.join(["/usr/bin/python3", "-I", f"{self.place.root}/{AGENT}", *arguments])

    def run(self, command: str, given: Any = b"", timeout: float = CHECK) -> bytes:
        """Run a shell command on the host, and return its output. `given` is its input: bytes or a file."""
        stdin: dict[str, Any] = {"input": given} if isinstance(given, bytes) else {"stdin": given}
        with TemporaryDirectory() as folder:
            ssh = ["ssh", "-T", "-p", str(self.place.port), "-l", self.place.user, *self.identity]
            ssh += [*pinned(Path(folder), self.host_key), *options(ConnectTimeout=20, ControlPath="none")]
            try:
                done = subprocess.run(  # noqa: S603 - without a shell here
                    [*ssh, "--", self.place.machine, command],
                    capture_output=True,
                    timeout=timeout,
                    check=False,
                    **stdin,
                )
            except (FileNotFoundError, subprocess.TimeoutExpired) as error:
                raise NotJoined(f"{self.place.machine} does not answer.") from error
        if done.returncode:
            output = done.stderr.decode(errors="replace").strip()[-600:]
            raise NotJoined(f"{self.place.machine}: {output or f'status {done.returncode}'}")
        return done.stdout
