"""Decides whether the platform may connect to an address that a customer named.

Addresses on the internet are allowed. Addresses of private networks are allowed only for a service with a region.
The platform's own addresses are forbidden:

- loopback, link-local (with cloud metadata) and the addresses of this machine
- its database and broker, and the servers that apps know of (`add_source`)
- other servers of the settings in private networks
- the networks of the setting PROBE_FORBIDDEN

The networks of PROBE_ALLOWED, with which a laptop checks itself, are exempt.
"""

import asyncio
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable
from functools import cache
from urllib.parse import urlsplit

import psutil
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


PRIVATE = _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
METADATA = _networks(
    "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128",
    "fd00:a9fe:a9fe::/48", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128",
)  # fmt: skip
"""The networks of cloud metadata services, which give a machine its secrets. Some others are link-local."""
UNROUTED = _networks(
    "0.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "224.0.0.0/3", "::/127",
)  # fmt: skip
"""This host, this link, carriers' own networks, multicast and reserved networks."""
TRANSLATED = _networks("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
"""IPv6 networks that are the IPv4 internet: an address is the last 32 bits."""
ROUTED = (*TRANSLATED, *_networks("2000::/3", "fc00::/7"))
"""All routed networks of IPv6. They exclude link-local, site-local, multicast and unassigned addresses."""
LIBPQ = ("host", "hostaddr")
"""The parameters of a connection string that name PostgreSQL's servers."""
ISATAP = (0x00005EFE, 0x02005EFE)
FORBIDDEN = "The platform does not check this address."
NEEDS_REGION = "region is required where the address is private"
NO_REGION = "region must not be set where the address is not private"


def forms(address: Address) -> list[Address]:
    """Return the address, and the IPv4 addresses embedded in an IPv6 one: packets may go to any of them."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    found: list[Address] = [address, *(address.teredo or ())]
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if int(address) > 1 and (_within(address, TRANSLATED) or int(address) >> 32 & 0xFFFFFFFF in ISATAP):
        found.append(low)
    return found


def is_private(address: Address) -> bool:
    """Tell whether the address is in a private network.

    Such networks exist in many places: a region selects one.
    """
    return any(_within(form, PRIVATE) for form in forms(address))


def is_forbidden(address: Address) -> bool:
    """Tell whether the platform must not connect to the address, with a region or without."""
    if getattr(address, "scope_id", None) is not None:
        return True
    return any(_is_ours(form) and not _within(form, settings.PROBE_ALLOWED) for form in forms(address))


def is_open(address: Address) -> bool:
    """Tell whether the platform connects to the address for customers: it is on the internet, or in
    PROBE_ALLOWED.
    """
    inside = (form for form in forms(address) if _within(form, PRIVATE))
    return not is_forbidden(address) and all(_within(form, settings.PROBE_ALLOWED) for form in inside)


def refusal(addresses: Collection[Address], private: bool) -> str | None:
    """Return the reason to refuse a host with these addresses, or None. `private` is whether the service has a
    region.

    One bad address among good ones is enough to refuse, because it is no accident.
    """
    if any(is_forbidden(address) for address in addresses):
        return FORBIDDEN
    if any(is_private(address) != private for address in addresses):
        return NO_REGION if private else NEEDS_REGION
    return None


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _is_ours(address: Address) -> bool:
    """Tell whether the address is in the platform's own networks, or in no routed network."""
    if address.version == 6 and not _within(address, ROUTED):
        return True
    if _within(address, (*UNROUTED, *METADATA, *settings.PROBE_FORBIDDEN)):
        return True
    return address in control_plane() or address in _this_machine()


@cache
def _this_machine() -> frozenset[Address]:
    """Return the addresses of this machine's interfaces. They reach servers that listen only for this machine.

    The cache is cleared whenever `control_plane` looks names up again: a failover or another network changes the
    addresses.
    """
    families = (socket.AF_INET, socket.AF_INET6)
    entries = (entry for card in psutil.net_if_addrs().values() for entry in card if entry.family in families)
    return frozenset(ipaddress.ip_address(entry.address.partition("%")[0]) for entry in entries)


PLANE_SECONDS = 60.0
"""Seconds after which the platform's servers and this machine's interfaces are looked up again."""
_plane: dict[tuple[tuple[str, ...], ...], tuple[float, frozenset[Address]]] = {}
_lookup_lock = threading.Lock()
NEVER_LOOKED_UP = 0.0, frozenset[Address]()


sources: list[Callable[[], Iterable[str]]] = []
"""Functions of apps that return servers of the platform which the settings do not name."""


def add_source(source: Callable[[], Iterable[str]]) -> None:
    """Also forbid the names and addresses that `source` returns. Any thread calls `source`, once a minute."""
    if source not in sources:
        sources.append(source)


def control_plane() -> frozenset[Address]:
    """Return the addresses of the database, the broker and `sources`, and the private ones of other servers in the
    settings.

    Paths of sockets have no address. Names are looked up once a minute, which blocks. In an event loop the known
    addresses are returned, however old, without waiting for a look-up in another thread. The prober's loop leaves
    look-ups to the task that claims checks.

    An address that a name once resolved to stays refused, so that neither a failover nor a failed look-up opens it.
    """
    hosts, others = _hosts(), _others()
    named = hosts, others
    at, known = _plane.get(named, NEVER_LOOKED_UP)
    if at and (_in_a_loop() or time.monotonic() - at <= PLANE_SECONDS):
        return known
    with _lookup_lock:
        at, known = _plane.get(named, NEVER_LOOKED_UP)
        if not at or time.monotonic() - at > PLANE_SECONDS:
            known_to_apps = (host for source in sources for host in source())
            fresh = (_resolve(host) for host in (*hosts, *known_to_apps) if host and not host.startswith("/"))
            private = (filter(is_private, _resolve(host)) for host in others if host)
            known = known.union(*fresh, *private)
            _plane[named] = time.monotonic(), known
            _this_machine.cache_clear()
    return known


def _hosts() -> tuple[str, ...]:
    """Return the names and addresses of the database and the broker in the settings.

    The options of DATABASE_URL are included, which can name several servers with ports of their own.
    """
    database = settings.DATABASES["default"]
    named = (
        database["HOST"], *map(database.get("OPTIONS", {}).get, LIBPQ), *_of_conninfo(settings.DRIVER_CONNINFO)
    )  # fmt: skip
    found = (host for hosts in named for host in (hosts or "").split(","))
    return (*found, urlsplit(settings.REDIS_URL).hostname or "")


def _others() -> tuple[str, ...]:
    """Return the names and addresses of the other servers in the settings, and of the platform's own site.

    They are servers for mails, messages, look-ups and sign-in. On the internet they stay open: anybody can reach
    them there, and they share addresses with other services (mail services, content networks). They count as the
    platform's own only inside a private network.
    """
    provider = settings.OPENID
    addresses = (
        settings.SMS_HTTP_URL,
        settings.SITE_URL,
        settings.STREAM_URL,
        provider.issuer if provider else "",
    )
    nameservers = (server.partition("@")[0] for server in settings.PROBE_NAMESERVERS)
    return (settings.EMAIL_HOST or "", *(urlsplit(each or "").hostname or "" for each in addresses), *nameservers)


@cache
def _of_conninfo(conninfo: str) -> tuple[str, ...]:
    """Return the hosts of a connection string of libpq."""
    parameters = conninfo_to_dict(conninfo)
    return tuple(str(parameters[name]) for name in LIBPQ if name in parameters)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _resolve(host: str) -> set[Address]:
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return set()  # this machine does not reach it under this name
    return {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found}
