"""Where requests come from, as rate limits have it."""

import ipaddress

from django.http import HttpRequest
from rest_framework.throttling import BaseThrottle

_address_of = BaseThrottle().get_ident


def network_of(request: HttpRequest) -> str:
    """Whom limits by address count a request for: the address, and of IPv6 the network of 64 bits that it is in.

    A subscriber is given at least that much, and could come from another address of it for each try.
    """
    written = address_of(request)
    if ":" not in written:
        return written
    address = ipaddress.IPv6Address(written)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


def address_of(request: HttpRequest) -> str:
    """Where a request comes from: behind as many proxies as NUM_PROXIES says."""
    try:
        return str(ipaddress.ip_address(_address_of(request)))  # type: ignore[arg-type] # META is all it looks at
    except ValueError:
        # a proxy that passes on what clients write: its own address is at least true
        return request.META.get("REMOTE_ADDR", "")
