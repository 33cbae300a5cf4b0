"""Filling address pools: every usable address of a pool has a row before the first is taken."""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from django.db import connection, transaction

from compute.models import Address, AddressPool, IPv6Range, NodeBalancer
from config.display.plurals import counted
from config.errors import Invalid, Problems

IPV6 = (AddressPool.Kind.SLAAC, AddressPool.Kind.ROUTED)
ROUTED_SIZES = range(16, 57)
"""Prefix lengths of a routed pool. The smallest pool can contain one of the largest ranges."""
MIN_PREFIX_LENGTH = 16
"""The shortest prefix of an IPv4 pool: 65,534 rows are made in one transaction."""

# One statement for any size, so that a /16 takes seconds. A second run adds nothing.
FILL_POOL = """
INSERT INTO compute_address (pool_id, region_id, address, prefix, gateway, public)
SELECT %(pool)s, %(region)s, %(network)s::inet + host, %(prefix)s, %(gateway)s::inet, %(public)s
FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS host
WHERE %(network)s::inet + host <> %(gateway)s::inet
ON CONFLICT (address) DO NOTHING
"""


def fill_pool(pool: AddressPool) -> int:
    """Add the addresses that `pool` lacks; returns how many addresses.

    The network's own address, its broadcast address and the gateway are never assigned. IPv6 pools have no rows: a
    slaac pool's addresses follow from the instances' ids, and ranges are cut out of a routed pool.
    """
    if pool.kind in IPV6:
        return 0
    network = ip_network(pool.network)
    with connection.cursor() as cursor:
        cursor.execute(
            FILL_POOL,
            {
                "pool": pool.pk,
                "region": pool.region_id,
                "network": str(network.network_address),
                "prefix": network.prefixlen,
                "gateway": pool.gateway,
                "public": pool.kind == AddressPool.Kind.PUBLIC,
                "first": 1,
                "last": network.num_addresses - 2,
            },
        )
        return cursor.rowcount


@transaction.atomic
def add_pool(pool: AddressPool) -> int:
    """Check, save and fill a new pool; returns how many addresses it has. Raises as `check_pool`."""
    check_pool(pool)
    pool.save(force_insert=True)
    return fill_pool(pool)


def check_pool(pool: AddressPool) -> None:
    """Normalise `network` and `gateway` of a new pool, or raise `Invalid` with every problem.

    Runs in the transaction that saves the pool. Other requests that add a pool wait until it ends, so that of two
    overlapping pools the second is refused.
    """
    problems = Problems()
    network = check_shape(pool, problems)
    if network is not None:
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE compute_addresspool IN SHARE ROW EXCLUSIVE MODE")
        for other in AddressPool.objects.all():
            found = ip_network(other.network)
            if found.version == network.version and found.overlaps(network):
                problems.add("network", f"It overlaps {other}.")
    problems.raise_any()


def check_shape(pool: AddressPool, problems: Problems) -> IPv4Network | IPv6Network | None:
    """Normalise `network` and `gateway`, and note problems that need no table to find.

    Returns the network, or None if network or gateway cannot be read.
    """
    network = _network(pool, problems)
    try:
        pool.gateway = str(ip_address(pool.gateway))
    except ValueError:
        problems.add("gateway", "This is not an address.")
        return None
    if network is not None:
        _check_gateway(pool, network, problems)
    return network


def _network(pool: AddressPool, problems: Problems) -> IPv4Network | IPv6Network | None:
    try:
        network = ip_network(pool.network)
    except ValueError as error:
        problems.add("network", f"This is not a network in CIDR notation: {error}.")
        return None
    pool.network = str(network)
    if pool.kind == AddressPool.Kind.SLAAC:
        if network.version != 6 or network.prefixlen != 64:
            problems.add("network", "A SLAAC pool is an IPv6 /64.")
    elif pool.kind == AddressPool.Kind.ROUTED:
        if network.version != 6 or network.prefixlen not in ROUTED_SIZES:
            problems.add("network", "A routed pool is IPv6, between /16 and /56.")
    elif network.version != 4:
        problems.add("network", "This kind of pool is of IPv4.")
    elif not MIN_PREFIX_LENGTH <= network.prefixlen <= 30:
        problems.add("network", f"A pool is between /{MIN_PREFIX_LENGTH} and /30: add several for more.")
    return network


def _check_gateway(pool: AddressPool, network: IPv4Network | IPv6Network, problems: Problems) -> None:
    gateway = ip_address(pool.gateway)
    if pool.kind == AddressPool.Kind.ROUTED:
        # a gateway inside the network would have to be left out when ranges are cut
        if not (gateway.version == 6 and gateway.is_link_local):
            problems.add("gateway", "The gateway of a routed pool is a link-local address, such as fe80::1.")
        return
    if pool.kind == AddressPool.Kind.SLAAC and gateway.version == 6 and gateway.is_link_local:
        return
    if gateway not in network:
        problems.add("gateway", "The gateway has to be inside the network.")
    elif network.version == 4 and gateway in (network.network_address, network.broadcast_address):
        problems.add("gateway", "The gateway can be neither the network's own nor its broadcast address.")


@transaction.atomic
def remove_pool(pool: AddressPool) -> None:
    """Delete a pool and its addresses. Raises `Invalid` while an instance or a load balancer has one of them.

    The free rows are deleted first, by one conditional DELETE. The DELETE waits for a request that is taking an
    address, and then keeps the taken row, which ends the removal. A request that is cutting a range has locked the
    pool, so the removal waits for it too.
    """
    AddressPool.objects.select_for_update().filter(pk=pool.pk).order_by("pk").first()
    Address.objects.filter(pool=pool, instance=None, nodebalancer=None).delete()
    used = Address.objects.filter(pool=pool).count()
    if used:
        raise Invalid(f"{counted(used, 'of its addresses is', 'of its addresses are')} in use.")
    if pool.kind == AddressPool.Kind.SLAAC and pool.region.instances.filter(ipv6__isnull=False).exists():
        raise Invalid("Instances of this region have addresses of it.")
    if pool.kind == AddressPool.Kind.SLAAC and NodeBalancer.objects.filter(region=pool.region, ipv6__isnull=False):
        raise Invalid("Load balancers of this region have addresses of it.")
    ranges = IPv6Range.objects.filter(pool=pool).count()
    if ranges:
        raise Invalid(f"{counted(ranges, 'of its ranges is', 'of its ranges are')} in use.")
    pool.delete()
