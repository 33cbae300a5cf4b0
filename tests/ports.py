"""Ports for servers that are started as processes with a given port."""

import itertools
import os
import random
import socket

# From here on, systems give ports to connections and to sockets that ask for any port (Linux; others from
# 49152). Such a port could be taken before the server that it was found for listens.
_EPHEMERAL = 32_768
_LOWEST = 20_000
_SHARE = 500

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_first = _LOWEST + _worker * _SHARE % (_EPHEMERAL - _LOWEST - _SHARE)
# Every second one: `make serve` listens with its streams on the next port, a while later.
_ports = itertools.cycle(range(_first, _first + _SHARE, 2))
# Two runs on one machine begin at different ports.
for _ in range(random.SystemRandom().randrange(_SHARE // 2)):
    next(_ports)


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port of IPv4 `address` that no process listens on by TCP or UDP, and that the system gives to
    none.

    Each worker of a run has ports of its own, and repeats one only after all others.
    """
    for port in itertools.islice(_ports, _SHARE // 2):
        try:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                with socket.socket(socket.AF_INET, kind) as probe:
                    probe.bind((address, port))
        except OSError:
            continue
        return port
    raise AssertionError(f"no port of {address} is free from {_first} to {_first + _SHARE - 1}")
