"""Taking addresses from the pools of a region, and releasing them."""

import ipaddress
from collections.abc import Iterable

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from compute import listeners
from compute.models import Address, AddressPool, AddressShare, Instance
from compute.services.networking.node_removal import drop_nodes
from config.errors import Invalid

_TAKE = """
UPDATE compute_address SET {column} = %(holder)s
 WHERE id = (
    SELECT id FROM compute_address
     WHERE region_id = %(region)s AND public = %(public)s AND instance_id IS NULL AND nodebalancer_id IS NULL
     ORDER BY released ASC NULLS FIRST, id
     LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING address
"""
_FOR_INSTANCE = _TAKE.format(column="instance_id")
_FOR_NODEBALANCER = _TAKE.format(column="nodebalancer_id")


def take(region_id: str, instance_id: int, *, public: bool) -> str:
    """Give the instance the free address of its region that was released longest ago, and return it.

    One UPDATE through a partial index. Concurrent requests skip each other's rows, so no address is given twice and
    no request waits. The instance's row may be inserted later in the same transaction (the foreign key is
    deferred). Raises `Invalid` on ``region`` (``private_ip``) if the region has none left.
    """
    return _take(_FOR_INSTANCE, region_id, instance_id, public)


def take_for_balancer(region_id: str, balancer_id: int) -> str:
    """Take a public address for a load balancer. Raises as `take` does."""
    return _take(_FOR_NODEBALANCER, region_id, balancer_id, True)


def _take(statement: str, region_id: str, holder: int, public: bool) -> str:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"holder": holder, "region": region_id, "public": public})
        row = cursor.fetchone()
    if row is None:
        kind, field = ("public", "region") if public else ("private", "private_ip")
        raise Invalid(f"No {kind} addresses are left in this region.", field)
    return str(row[0]).split("/")[0]


def release(rows: QuerySet[Address]) -> None:
    """Release these addresses; their reverse names and shares are removed.

    Nodes of load balancers with these addresses are deleted, because they would send traffic to the next owner.
    """
    drop_nodes(rows)
    AddressShare.objects.filter(address__in=rows.order_by().values("pk")).delete()
    rows.update(instance=None, nodebalancer=None, rdns=None, released=Now())


def release_all(instance: Instance) -> None:
    """Release every address of the instance."""
    release(Address.objects.filter(instance=instance))


_LIST = """
UPDATE compute_instance SET updated = statement_timestamp(), ipv4 = ARRAY(
    SELECT host(a.address) FROM compute_address a
     WHERE a.instance_id = compute_instance.id AND a.region_id = compute_instance.region_id
     ORDER BY a.public DESC, array_position(compute_instance.ipv4, host(a.address)::varchar), a.id)
 WHERE id = ANY(%s)
"""


def list_addresses(instance_ids: Iterable[int]) -> None:
    """Write the instances' addresses into `Instance.ipv4`: the public ones first, new addresses after old ones.

    Call it in the transaction that changed the rows, with the instances locked.
    """
    ids = sorted(instance_ids)
    with connection.cursor() as cursor:
        cursor.execute(_LIST, [ids])
    listeners.addresses_changed(ids)


def mac_address(instance_id: int) -> str:
    """Return the hardware address of an instance's first interface, which is derived from its id."""
    tail = (instance_id & 0xFFFFFFFF).to_bytes(4, "big")
    return ":".join(f"{byte:02x}" for byte in (0xF2, 0x3C, *tail))


def interface_id(instance_id: int) -> int:
    """Return the modified EUI-64 of `mac_address`, which is the lower half of the instance's IPv6 addresses."""
    mac = bytes(int(part, 16) for part in mac_address(instance_id).split(":"))
    eui = bytes((mac[0] ^ 0x02, mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]))
    return int.from_bytes(eui, "big")


def slaac_address(network: str, instance_id: int) -> str:
    """Return the address that an instance configures for itself in its region's /64."""
    return str(ipaddress.IPv6Network(network)[interface_id(instance_id)])


def slaac_in(region_id: str, instance_id: int) -> str | None:
    """Return the instance's SLAAC address in the region, with its prefix length; None if the region has no IPv6."""
    pools = AddressPool.objects.filter(region_id=region_id, kind=AddressPool.Kind.SLAAC)
    network = pools.order_by("pk").values_list("network", flat=True).first()
    return f"{slaac_address(network, instance_id)}/128" if network else None


def default_rdns(address: str, domain: str) -> str:
    """Return the default reverse name of a public address under the platform's domain, with dashes for dots."""
    return f"{address.replace('.', '-')}.{domain}"


def address_in(name: str, domain: str) -> str | None:
    """Return the IPv4 address whose default reverse name this is, or None."""
    label, _, rest = name.casefold().rstrip(".").partition(".")
    if rest != domain.casefold():
        return None
    try:
        return str(ipaddress.IPv4Address(label.replace("-", ".")))
    except ValueError:
        return None
