"""What an instance's addresses look like together."""

import ipaddress
from typing import Any

from django.conf import settings

from compute.models import Address, AddressPool, Instance
from compute.services.addresses import default_rdns, interface_id

GATEWAY6 = "fe80::1"
MASK6 = "ffff:ffff:ffff:ffff::"


def networking(instance: Instance) -> dict[str, Any]:
    """The networking object of the contract: IPv4 by visibility, IPv6 by scope. Two queries."""
    rows = Address.objects.filter(instance=instance).order_by("pk")
    addresses = [_ipv4(row, instance.pk) for row in rows]
    return {
        "ipv4": {
            "public": [address for address in addresses if address["public"]],
            "private": [address for address in addresses if not address["public"]],
            "shared": [],
            "reserved": [],
        },
        "ipv6": {"slaac": _slaac(instance), "link_local": _link_local(instance), "global": []},
    }


def _ipv4(row: Address, instance_id: int) -> dict[str, Any]:
    rdns = row.rdns or (default_rdns(row.address, settings.PLATFORM_DOMAIN) if row.public else None)
    return {
        "address": row.address,
        "gateway": row.gateway if row.public else None,
        "subnet_mask": str(ipaddress.IPv4Network((0, row.prefix)).netmask),
        "prefix": row.prefix,
        "type": "ipv4",
        "public": row.public,
        "rdns": rdns,
        "compute_id": instance_id,
        "region": row.region_id,
    }


def _ipv6(instance: Instance, address: str, public: bool) -> dict[str, Any]:
    return {
        "address": address,
        "gateway": GATEWAY6,
        "subnet_mask": MASK6,
        "prefix": 64,
        "type": "ipv6",
        "public": public,
        "rdns": None,
        "compute_id": instance.pk,
        "region": instance.region_id,
    }


def _slaac(instance: Instance) -> dict[str, Any] | None:
    if instance.ipv6 is None:
        return None
    pool = AddressPool.objects.filter(region_id=instance.region_id, kind=AddressPool.Kind.SLAAC).first()
    slaac = _ipv6(instance, instance.ipv6.split("/")[0], public=True)
    return slaac if pool is None else {**slaac, "gateway": pool.gateway}


def _link_local(instance: Instance) -> dict[str, Any]:
    address = ipaddress.IPv6Network("fe80::/64")[interface_id(instance.pk)]
    return _ipv6(instance, str(address), public=False)
