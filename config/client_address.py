"""The client's address of a request, by which rate limits count."""

import ipaddress

from django.http import HttpRequest
from rest_framework.throttling import BaseThrottle

_address_of = BaseThrottle().get_ident


def network_of(request: HttpRequest) -> str:
    """The subject of limits by address: the client's IPv4 address, or the /64 network of its IPv6 address.

    A subscriber is given at least a /64, and could use another address of it for each try.
    """
    written = address_of(request)
    if ":" not in written:
        return written
    address = ipaddress.IPv6Address(written)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


def address_of(request: HttpRequest) -> str:
    """The client's address: the one in front of as many proxies as NUM_PROXIES says."""
    try:
        return str(ipaddress.ip_address(_address_of(request)))  # type: ignore[arg-type] # META is all it looks at
    except ValueError:
        # the proxy passes on a header that clients write: the proxy's own address is at least true
        return request.META.get("REMOTE_ADDR", "")
