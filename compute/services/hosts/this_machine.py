"""The region of this machine: one host with real machines, and addresses that are reached from here only."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.db import transaction

from compute.models import AddressPool, Host
from compute.services.hosts import registry
from compute.services.networking.pools import add_pool
from compute.services.seed import PUBLIC, SLAAC
from config.db.rows import lock
from config.errors import Busy
from regions.models import Region

REGION, HOST = "local", "local-h1"
UNKNOWN_COUNTRY = "zz"
POSITION = 5
"""The position of the region, before the catalogue's regions."""
CAPABILITIES = ["Block Storage", "Computes"]
"""The region's capabilities. User-mode network cannot provide firewalls, VLANs or load balancers."""
NO_FREE_NETWORK = "All networks for the instances of this machine are in use: 198.19.240.0/20 has no free /24."


@transaction.atomic
def ensure(driver: str, location: str, shared: str) -> Host:
    """Return the host of this machine, and make the host, its region and address pools if they are missing.

    `location` and `shared` are directories, which may have moved since. Raises `Busy` if no network is free.
    """
    region, _ = Region.objects.get_or_create(
        pk=REGION,
        defaults={"country": UNKNOWN_COUNTRY, "capabilities": CAPABILITIES, "position": POSITION},
    )
    kinds = set(AddressPool.objects.filter(region=region).values_list("kind", flat=True))
    for kind, candidates in _networks():
        if kind not in kinds:
            _add(region, kind, candidates)
    host = Host.objects.filter(label=HOST).first()
    if host is None:
        return registry.add(registry.HostSpec(HOST, REGION, driver, location, shared))
    if (host.location, host.shared) != (location, shared):
        host = lock(Host.objects.filter(pk=host.pk))
        host.location, host.shared = location, shared
        host.save(update_fields=["location", "shared"])
    return host


def _networks() -> Iterator[tuple[AddressPool.Kind, list[IPv4Network] | list[IPv6Network]]]:
    """Yield candidate networks for each kind of pool, the first choice first. The catalogue's regions do not use
    them."""
    yield AddressPool.Kind.PUBLIC, list(PUBLIC[-1].subnets(new_prefix=24))
    last = int(SLAAC.broadcast_address)
    yield AddressPool.Kind.SLAAC, [IPv6Network((last - (n << 64), 64), strict=False) for n in range(16)]


def _add(region: Region, kind: AddressPool.Kind, candidates: list[IPv4Network] | list[IPv6Network]) -> None:
    taken = [ip_network(each) for each in AddressPool.objects.values_list("network", flat=True)]
    for network in candidates:
        if not any(network.version == other.version and network.overlaps(other) for other in taken):
            add_pool(AddressPool(region=region, kind=kind, network=str(network), gateway=str(network[1])))
            return
    raise Busy(NO_FREE_NETWORK)
