"""Calls to a host's agent by ssh: one process of OpenSSH's client for each call, over a shared connection.

The first call opens the connection. All workers of this user and machine share it, and it closes some time after
the last call. A separate process keeps it, so a fork inherits nothing. The host key has to be the one that is
pinned in the host's row. The platform's key may use only the verbs of `agent.serving.agent_program`.
"""

import hashlib
import json
import logging
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from compute.drivers.base import Address, Console, DriverError, Options, Refused, Unreachable
from compute.drivers.consoles import SocketConsole
from compute.drivers.qemu.agent.serving.agent_program import CONSOLE
from compute.drivers.qemu.bundle import bundle

PERSIST_SECONDS = 60
"""Seconds that a connection stays open without calls."""
ALIVE, MISSED = 5, 2
"""Seconds of silence before a keepalive message, and the number of unanswered ones that end the connection."""
CONNECT_SECONDS = 10
"""Maximum seconds for connecting. A third of a call's timeout is the other limit."""
ALIAS = "host"
FIRST_WITH_DATA = 2
"""The first protocol version of agents that take packet filters as data."""
OWN_FAILURE = 255
"""The exit status if ssh itself fails, or the agent was killed. In both cases there is no answer."""
NO_ANSWER = "The host does not answer."
OTHER_KEY = "The host does not have the key that was pinned when it was added."
NOT_ADMITTED = "The host does not accept the platform's key."
NO_LOCATION = "A location by ssh has the form ssh://root@hv1:22/var/lib/skerry."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """The parts of a location such as ``ssh://root@hv1:22/var/lib/skerry``."""

    user: str
    machine: str
    port: int
    root: str

    @classmethod
    def of(cls, location: str) -> "Place":
        """Parse a location. Raises `Refused` if it is invalid."""
        try:
            parts = urlsplit(location)
            port = parts.port or 22
        except ValueError as error:
            raise Refused(NO_LOCATION) from error
        user, machine = parts.username or "root", parts.hostname or ""
        fits = (
            parts.scheme == "ssh"
            and parts.password is None
            and re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", user)
            and re.fullmatch(r"[a-z0-9:][a-z0-9.:-]{0,252}", machine)
            and re.fullmatch(r"(/[A-Za-z0-9_.-]+)+", parts.path)
            and not (parts.query or parts.fragment)
        )
        if not fits:
            raise Refused(NO_LOCATION)
        return cls(user, machine, port, parts.path)


def pinned(folder: Path, host_key: str) -> list[str]:
    """The options of ssh that accept only this host key. Raises `Refused` if it is not a key."""
    if not re.fullmatch(r"[a-z0-9@.-]+ [A-Za-z0-9+/=]+", host_key):
        raise Refused("The key of the host is not known. Add the host with manage.py host_add --ssh.")
    content = f"{ALIAS} {host_key}\n"
    path = folder / f"known-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    if not path.exists():
        descriptor, part = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
        Path(part).replace(path)
    return options(
        StrictHostKeyChecking="yes",
        HostKeyAlias=ALIAS,
        UserKnownHostsFile=path,
        GlobalKnownHostsFile="/dev/null",
        HostKeyAlgorithms=",".join(algorithms(host_key)),
    )


def algorithms(host_key: str) -> list[str]:
    kind = host_key.split()[0]
    return ["rsa-sha2-512", "rsa-sha2-256"] if kind == "ssh-rsa" else [kind]


def options(**given: Any) -> list[str]:
    return [word for name, value in given.items() for word in ("-o", f"{name}={value}")]


class Ssh:
    """A `Transport` to the agent of another machine."""

    def __init__(self, address: Address, given: Options):
        if not given.identity:
            raise Refused("The platform has no key for hosts.")
        self.host = address.name
        self.timeout = given.timeout
        self.place = Place.of(address.location)
        self.folder = folder = Path(given.identity).parent
        named = hashlib.sha256(f"{self.place}{address.host_key}{given.identity}".encode()).hexdigest()[:16]
        multiplexed = options(ControlMaster="auto", ControlPath=f"c-{named}", ControlPersist=PERSIST_SECONDS)
        # ssh runs in the folder, so that the socket's path is only its name: a path is limited to 107 bytes, and
        # the path of a folder for temporary files may be long
        self.alone = [
            "ssh", "-F", "none", "-T", "-p", str(self.place.port), "-l", self.place.user, "-i", given.identity,
            *pinned(folder, address.host_key),
            *options(
                BatchMode="yes", IdentitiesOnly="yes", IdentityAgent="none", PreferredAuthentications="publickey",
                ConnectTimeout=max(1, min(CONNECT_SECONDS, int(given.timeout / 3))),
                ServerAliveInterval=ALIVE, ServerAliveCountMax=MISSED,
                ForwardAgent="no", ClearAllForwardings="yes", PermitLocalCommand="no", LogLevel="ERROR",
            ),
        ]  # fmt: skip
        self.command = [*self.alone, *multiplexed]
        self._takes_data = False

    def call(self, verb: str, **values: Any) -> Any:
        try:
            return _result(self._run(json.dumps({"verb": verb, "values": values}).encode()))
        except DriverError:
            self._takes_data = False  # the host may have been downgraded to the previous release's agent
            raise

    def console(self, machine: str) -> Console:
        """Open a console by a separate connection.

        A server allows only a few sessions for each connection, and calls need those. Also, a call that hangs ends
        the shared connection.
        """
        end, other = socket.socketpair()
        with other:
            process = subprocess.Popen(  # noqa: S603 - without a shell
                [*self.alone, "--", self.place.machine, CONSOLE],
                stdin=other.fileno(),
                stdout=other.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=self.folder,
            )
        console = FarConsole(end, process)
        try:
            end.settimeout(self.timeout)
            end.sendall(json.dumps({"machine": machine}).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                letter = end.recv(1)
                if not letter:
                    raise Unreachable(NO_ANSWER, self.host)
                line += letter
            _result(line)
            end.settimeout(None)
        except (TimeoutError, ConnectionResetError) as error:
            console.close()
            raise Unreachable(NO_ANSWER, self.host) from error
        except DriverError:
            console.close()
            raise
        return console

    def is_current(self) -> bool:
        return bool(self.call("digest") == bundle().digest)

    def takes_data(self) -> bool:
        """Tell whether the host's agent takes packet filters as data.

        A positive answer is remembered until a call fails. After a negative answer, ask again: the agent may be
        updated.
        """
        if not self._takes_data:
            try:
                self._takes_data = int(self.call("protocol")) >= FIRST_WITH_DATA
            except Refused as error:
                if "There is no verb" not in str(error):
                    raise
        return self._takes_data

    def close(self) -> None:
        """Close the shared connection, if there is one. If it hung, the next calls would hang as well."""
        self._end(["-O", "exit"])

    def _run(self, request: bytes) -> bytes:
        # a file for the messages of ssh: the process that keeps the connection may keep a pipe open after a call
        with tempfile.TemporaryFile() as words:
            try:
                done = subprocess.run(  # noqa: S603 - without a shell
                    [*self.command, "--", self.place.machine, "answer"],
                    input=request,
                    stdout=subprocess.PIPE,
                    stderr=words,
                    timeout=self.timeout,
                    start_new_session=True,
                    cwd=self.folder,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                self.close()
                raise Unreachable(NO_ANSWER, self.host) from error
            except FileNotFoundError as error:
                raise DriverError("The machine of this worker has no ssh.") from error
            words.seek(0)
            stderr = words.read(100_000).decode(errors="replace").strip()
        if done.returncode == OWN_FAILURE:
            raise Unreachable(why(stderr), self.host) from OSError(stderr[-1000:])
        if done.returncode:
            raise DriverError("The agent of the host does not run.") from OSError(stderr[-1000:])
        if stderr:
            logger.warning("Host %s says: %s", self.host, stderr[-4000:])
        return done.stdout

    def _end(self, what: Sequence[str]) -> None:
        command = [*self.command, *what, "--", self.place.machine]
        null = subprocess.DEVNULL
        try:
            subprocess.run(  # noqa: S603 - without a shell
                command, stdin=null, stdout=null, stderr=null, timeout=2, cwd=self.folder, check=False
            )
        except subprocess.TimeoutExpired:
            logger.warning("The connection to host %s does not end.", self.host)


class FarConsole(SocketConsole):
    """A console whose other end an ssh process serves."""

    def __init__(self, end: socket.socket, process: "subprocess.Popen[bytes]"):
        super().__init__(end)
        self._process = process

    def close(self) -> None:
        super().close()
        self._process.terminate()
        self._process.wait()


def _result(response: bytes) -> Any:
    """Return the result in an answer of `agent.serving.agent_program`, or raise the error in it."""
    try:
        answer = json.loads(response)
        if "refused" in answer:
            raise Refused(str(answer["refused"]))
        if "failed" in answer:
            raise DriverError(str(answer["failed"]))
        return answer["result"]
    except (ValueError, TypeError, KeyError) as error:
        raise DriverError("The agent of the host sent an invalid answer.") from error


def why(stderr: str) -> str:
    """The message for a failure of ssh. It reveals no files or names of the host."""
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" in stderr or "Host key verification failed" in stderr:
        return OTHER_KEY
    if "no matching host key type" in stderr:
        return OTHER_KEY
    return NOT_ADMITTED if "Permission denied" in stderr else NO_ANSWER
