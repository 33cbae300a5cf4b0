"""The client's address of a request, by which rate limits count."""

import ipaddress
import logging
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from django.http import HttpRequest
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

log = logging.getLogger(__name__)

WRONG_NUMBER = "NUM_PROXIES is %d, but X-Forwarded-For came from %s with %d address(es)"
FEWER_ADDRESSES = f"{WRONG_NUMBER}: clients can write their own address (logged once)."
MORE_ADDRESSES = (
    f"{WRONG_NUMBER}: where no client wrote one there, NUM_PROXIES lacks a proxy, whose address all clients share"
    " in logins and limits (logged once)."
)
_reported: set[str] = set()
"""The warnings about proxies that this process has logged."""
_address_of = BaseThrottle().get_ident


def network_of(request: HttpRequest) -> str:
    """Return the subject of limits by address: the client's IPv4 address, or the /64 network of its IPv6 address.

    A subscriber gets at least a /64, and could use another address of it for each attempt.
    """
    return network_in(request.META)


def network_in(meta: Mapping[str, Any]) -> str:
    """Return the same as `network_of`, from the WSGI environment of a request."""
    written = _address_in(meta)
    if ":" not in written:
        return written
    address = ipaddress.IPv6Address(written)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


def address_of(request: HttpRequest) -> str:
    """Return the client's address. NUM_PROXIES is the number of proxies behind it."""
    return _address_in(request.META)


def _address_in(meta: Mapping[str, Any]) -> str:
    _compare(meta)
    # The attributes of a request that are read.
    asked = SimpleNamespace(META=meta, headers={"x-forwarded-for": meta.get("HTTP_X_FORWARDED_FOR")})
    try:
        return str(ipaddress.ip_address(_address_of(asked)))  # type: ignore[arg-type]
    except ValueError:
        # The proxy passes on a header that clients write. The proxy's own address is at least true.
        return str(meta.get("REMOTE_ADDR", ""))


def _compare(meta: Mapping[str, Any]) -> None:
    """Warn, once in a process, if X-Forwarded-For has another number of addresses than NUM_PROXIES says."""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR")
    if forwarded is None:  # nobody forwarded it: a health check, or no proxy at all
        return
    expected, found, peer = api_settings.NUM_PROXIES, forwarded.count(",") + 1, meta.get("REMOTE_ADDR", "")
    if found == expected or (not expected and not _is_near(peer)):
        return
    sentence = FEWER_ADDRESSES if found < expected else MORE_ADDRESSES
    if sentence not in _reported:
        _reported.add(sentence)
        log.warning(sentence, expected, peer or "a socket", found)


def _is_near(peer: str) -> bool:
    """Tell whether the peer may be a proxy of the installation. Strangers can write any header."""
    try:
        found = ipaddress.ip_address(peer)
        return (getattr(found, "ipv4_mapped", None) or found).is_private
    except ValueError:  # a Unix socket
        return True
