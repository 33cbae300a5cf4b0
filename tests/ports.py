"""Ports for servers that are started as processes, and so told where to listen."""

import itertools
import os
import random
import socket

# Systems give connections, and sockets that ask for any port, ones from here on (Linux; others from 49152).
# One of those may be taken again before the server that it was found for listens.
_EPHEMERAL = 32_768
_LOWEST = 20_000
_SHARE = 500

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_first = _LOWEST + _worker * _SHARE % (_EPHEMERAL - _LOWEST - _SHARE)
# Every other one: `make serve` has its streams at the port after its own, and listens there a while later.
_ports = itertools.cycle(range(_first, _first + _SHARE, 2))
# Two runs on one machine begin at different ones.
for _ in range(random.SystemRandom().randrange(_SHARE // 2)):
    next(_ports)


def free_port(address: str = "127.0.0.1") -> int:
    """A port of IPv4 `address` that nobody listens on by TCP or UDP, and nobody gets by chance.

    Each worker of a run has ports of its own, and gives each of them once before any of them twice.
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
