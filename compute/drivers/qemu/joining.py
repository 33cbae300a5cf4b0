"""The first contact with a host, by the ssh of who adds it: it gets the agent, a guest and the platform's key.

Who adds a host is root there. What workers may do afterwards is what `agent.serving` serves: they cannot bring
another agent, for that would be to run whatever they like.
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
from compute.drivers.qemu.agent.serving import AGENT
from compute.drivers.qemu.bundle import bundle
from compute.drivers.qemu.ssh import Place, options, pinned

SCAN, CHECK, COPY = 20.0, 600.0, 3600.0
"""Seconds for the key of a host, for the trial boots of its check, and for a guest and its images."""
GUEST = ("kernels", "images")
NO_GUEST = "Run `make guest`, which builds both: `host_add` copies them to a host that it reaches by ssh."


class NotJoined(DriverError):
    """The host could not be reached, or does not have what the platform needs there; the text is the operator's."""


def scan(location: str) -> str:
    """The public key that a host presents now, unproven: who adds it compares the fingerprint. Raises
    `DriverError`."""
    place = Place.of(location)
    command = ["ssh-keyscan", "-T", "10", "-p", str(place.port), "-t", "ed25519,ecdsa,rsa", "--", place.machine]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SCAN, check=False)  # noqa: S603
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise NotJoined(f"{place.machine}: ssh-keyscan does not say which key it has.") from error
    found = [line.split()[1:3] for line in done.stdout.splitlines() if line and not line.startswith("#")]
    if not found:
        # it asks once for each type of key, and says as often why there is none
        lines = dict.fromkeys(line.strip() for line in done.stderr.splitlines() if not line.startswith("#"))
        said = "; ".join(filter(None, lines))[-400:] or "it does not answer"
        raise NotJoined(
            f"{place.machine} does not present a key on port {place.port}: {said}. Check the name and the port,"
            " that sshd runs there, and that no firewall is in between."
        )
    best = sorted(found, key=lambda key: ("ed25519" not in key[0], "ecdsa" not in key[0]))[0]
    return " ".join(best)


class Operator:
    """A host as its administrator reaches it: by the ssh, the agent and the keys of who runs this, and by the key
    that is pinned. It may ask for a passphrase on the terminal."""

    def __init__(self, location: str, shared: str, host_key: str, identity: str = ""):
        self.place = Place.of(location)
        self.shared = shared
        self.host_key = host_key
        self.identity = ["-i", identity] if identity else []

    def join(self, key: str, guest: Path | None, user: str = "") -> dict[str, Any]:
        """Make a host ready for the platform's key: what it has, as `agent.hosts.check` says.

        A `guest` is a directory with kernels and images, for a host that has none; `user` is whom QEMU is to run
        as from its next boots on, made where there is none. Each part may be repeated.
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
        """Put the agent of this release there, by rename."""
        root = self.place.root
        part = f"{root}/.{AGENT}.part"
        put = (
            f"umask 022 && mkdir -p {root} && cat >{part} && /usr/bin/python3 -I {part} install {root} && rm {part}"
        )
        self.run(put, given=bundle().content)

    def bring_guest(self, guest: Path) -> None:
        """Copy kernels and images to a host that has none of these; what it has stays."""
        root = self.place.root
        for name in GUEST:
            if not (guest / name).is_dir():
                raise NotJoined(f"{guest} has no {name}: build the tiny guest there, by make guest.")
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
        """Have a copy of a file on the host for as long as this goes on: its place there."""
        place = f"{self.place.root}/.given-{secrets.token_hex(8)}"
        try:
            with file.open("rb") as content:
                self.run(f"umask 077 && cat >{place}", given=content, timeout=COPY)
            yield place
        finally:
            self.run(f"rm -f {place}")

    def confine(self, user: str) -> None:
        """Have QEMU run as a user of the host's. Only root can see to that: another administrator's QEMU is its
        own."""
        if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", user):
            raise NotJoined(f"{user!r:.40} is no name of a user.")
        add = f"useradd --system --no-create-home --shell /usr/sbin/nologin {user}"
        confine = self._agent("confine", self.place.root, user)
        self.run(f'if [ "$(id -u)" = 0 ]; then id -u {user} >/dev/null 2>&1 || {add} && {confine}; fi')

    def have_route(self, private_network: str) -> None:
        """Have the host route to its machines from their next boots on. Raises `NotJoined` where it cannot."""
        self.run(self._agent("route", self.place.root, private_network))

    def admit(self, key: str) -> None:
        """Let the platform's key do the verbs of this host in these directories, and nothing else."""
        self.run(self._agent("admit", self.place.root, self.shared, key))

    def dismiss(self, key: str) -> None:
        """Let the key in no longer."""
        self.run(self._agent("dismiss", key))

    def call(self, verb: str, timeout: float = CHECK, **values: Any) -> Any:
        """What a verb of the agent says to an administrator of the host. Raises `NotJoined`."""
        request = json.dumps({"verb": verb, "values": values}).encode()
        said = self.run(self._agent("administer", self.place.root, self.shared), request, timeout)
        answer = json.loads(said)
        if "result" not in answer:
            raise NotJoined(answer.get("refused") or answer.get("failed"))
        return answer["result"]

    def _agent(self, *arguments: str) -> str:
        return shlex.join(["/usr/bin/python3", "-I", f"{self.place.root}/{AGENT}", *arguments])

    def run(self, command: str, given: Any = b"", timeout: float = CHECK) -> bytes:
        """Run a command of the shell there; what it says. `given` is its standard input, bytes or a file."""
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
            said = done.stderr.decode(errors="replace").strip()[-600:]
            raise NotJoined(f"{self.place.machine}: {said or f'status {done.returncode}'}")
        return done.stdout
