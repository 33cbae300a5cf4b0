"""Reverse names: whether a text is one, and whether it leads back to the address."""

import ipaddress
import queue
import re
import socket
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.utils.module_loading import import_string

from config.errors import Invalid

LONGEST = 253
MOST_LOOKUPS = 4
"""How many names a process looks up at once: a name server that does not answer must not use up its threads."""

_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)", re.ASCII)
_free = threading.BoundedSemaphore(MOST_LOOKUPS)

Resolver = Callable[[str, float], frozenset[str]]


class Unresolved(Exception):
    """No name server could say, in time, what a name stands for."""


def checked(name: str, address: str) -> str:
    """Return `name`, or raise `Invalid` on ``rdns``.

    It has to be a host name with a dot in it; where the setting RDNS_CHECK is on, also one that leads to `address`.
    """
    labels = name.split(".")
    if len(name) > LONGEST or len(labels) < 2 or not all(_NAME.fullmatch(label) for label in labels):
        raise Invalid("rdns is not valid", "rdns")
    if settings.RDNS_CHECK and address not in _addresses_of(name):
        raise Invalid(f"There is no forward record of this name that leads to {address}.", "rdns")
    return name


def _addresses_of(name: str) -> frozenset[str]:
    resolver: Resolver = import_string(settings.RDNS_RESOLVER)
    try:
        return resolver(name, settings.RDNS_TIMEOUT)
    except Unresolved:
        raise Invalid("The name could not be looked up in time: try again later.", "rdns") from None


def system_resolver(name: str, timeout: float) -> frozenset[str]:
    """All addresses of a name, by the system's resolver; none where there is no such name.

    The library's call cannot be told to stop, so it runs in a thread that is left to itself after `timeout`
    seconds. Raises `Unresolved` then, and where so many have been left already that none is free.
    """
    end = time.monotonic() + timeout
    if not _free.acquire(timeout=timeout):
        raise Unresolved
    answer: queue.SimpleQueue[frozenset[str] | OSError] = queue.SimpleQueue()
    threading.Thread(target=_look_up, args=(name, answer), name="rdns", daemon=True).start()
    try:
        found = answer.get(timeout=max(0.0, end - time.monotonic()))
    except queue.Empty:
        raise Unresolved from None
    if isinstance(found, OSError):
        raise Unresolved from found
    return found


def _look_up(name: str, answer: "queue.SimpleQueue[frozenset[str] | OSError]") -> None:
    try:
        # the dot at the end: no search domain of this machine is to be tried
        found = socket.getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)
        answer.put(frozenset(str(ipaddress.ip_address(entry[4][0])) for entry in found))
    except socket.gaierror as error:
        unknown = error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
        answer.put(frozenset() if unknown else error)
    except OSError as error:
        answer.put(error)
    finally:
        _free.release()
