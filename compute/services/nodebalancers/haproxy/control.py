"""The running HAProxy: checking a configuration, reloading it, and sending commands to its socket."""

import csv
import logging
import shlex
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from compute.models import NodeBalancerNode
from compute.services.nodebalancers.haproxy.render import balancer_of, node_of
from compute.services.nodebalancers.stats import Growth

log = logging.getLogger(__name__)

SECONDS = 5.0
"""The most seconds that an answer on the socket may take."""
TIMEOUT_SECONDS = 60.0
"""The most seconds that a check or a reload may take."""
UNCHECKED = "INI"
"""HAProxy's result of a check that has not run yet."""
NO_STATES = "1\n"
"""A server-state file without any servers."""

Status = NodeBalancerNode.Status


class HAProxyError(Exception):
    """HAProxy does not answer, or refuses a configuration."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One report of HAProxy: its process and revision, its counters by proxy, and each node address's status."""

    process: str
    revision: str
    counters: dict[str, Growth]
    statuses: dict[tuple[int, str], str]


def check(program: str, path: Path) -> None:
    """Let HAProxy read a configuration without running it. Raises `HAProxyError` with HAProxy's message."""
    _run([program, "-c", "-q", "-f", str(path)])


def reload(command: str) -> None:
    """Run the operator's reload command. Raises `HAProxyError` if it fails."""
    _run(shlex.split(command))


def bindable(listener: str) -> bool:
    """Tell whether this host can bind the listener. The trial does not listen, so it takes no connections away.

    HAProxy itself does not try before it loads a configuration. It refuses the whole configuration if one listener
    cannot be bound.
    """
    address, _, port = listener.rpartition(":")
    try:
        with socket.socket(socket.AF_INET6 if "[" in address else socket.AF_INET) as trial:
            # as HAProxy does, which on a reload listens along with the previous process
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            trial.bind((address.strip("[]"), int(port)))
    except PermissionError:
        # HAProxy runs as another user, then
        return True
    except OSError as error:
        log.warning("%s: %s", listener, error)
        return False
    return True


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own
            command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HAProxyError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise HAProxyError(f"{shlex.join(command)}: {(done.stderr or done.stdout).strip()}")


def ask(path: Path, command: str) -> str:
    """Return HAProxy's answer to a command on its socket. Raises `HAProxyError`.

    It quotes nodes' answers to checks, which may be any bytes.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SECONDS)
            connection.connect(str(path))
            connection.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
    except OSError as error:
        raise HAProxyError(f"{path}: {error}") from error


def read_state(path: Path) -> Seen:
    """Ask for process, counters and statuses at once. Raises `HAProxyError`."""
    info, _, stats = ask(path, "show info; show stat -1 7 -1").partition("# pxname")
    facts = dict(line.split(": ", 1) for line in info.splitlines() if ": " in line)
    counters: dict[str, Growth] = {}
    statuses: dict[tuple[int, str], str] = {}
    for row in _ours(stats):
        if row["svname"] == "FRONTEND":
            counters[row["pxname"]] = Growth(int(row["stot"]), int(row["bin"]), int(row["bout"]))
        elif row["svname"] != "BACKEND" and (status := _status(row)):
            statuses[node_of(row["svname"])] = status
    return Seen(facts.get("Pid", ""), facts.get("description", ""), counters, statuses)


def _ours(stats: str) -> Iterator[dict[str, str]]:
    # only a newline ends a row: `splitlines` would also split at other characters that nodes may have sent
    for row in csv.DictReader(f"pxname{stats}".split("\n")):
        if row["pxname"].startswith("nb"):
            yield row


def _status(row: dict[str, str]) -> str | None:
    """Return the API's status of a server; None before its first check."""
    if row["status"] == "no check":
        return Status.UNKNOWN
    if row["check_status"].lstrip("* ") == UNCHECKED:
        return None
    # DRAIN is a server that is up and has no weight; UP 1/3 and DOWN 1/2 are on the way to the other
    return Status.DOWN if row["status"].startswith("DOWN") else Status.UP


def grown(before: Seen, now: Seen) -> dict[int, Growth]:
    """Return the growth of each load balancer's counters; the counters of a new process began at 0."""
    total: dict[int, Growth] = {}
    for proxy, counted in now.counters.items():
        was = before.counters.get(proxy, Growth()) if before.process == now.process else Growth()
        if counted.connections < was.connections:
            # the counters were cleared
            was = Growth()
        by = Growth(counted.connections - was.connections, counted.received - was.received, counted.sent - was.sent)
        balancer = balancer_of(proxy)
        total[balancer] = total.get(balancer, Growth()) + by
    return total


def states_of(answer: str, backends: set[str]) -> str:
    """Return the answer to ``show servers state`` for these backends only: servers of others are no longer
    checked."""
    version, names, *rows = answer.strip().splitlines()
    kept = [row for row in rows if len(row.split()) > 1 and row.split()[1] in backends]
    return "\n".join((version, names, *kept)) + "\n"
