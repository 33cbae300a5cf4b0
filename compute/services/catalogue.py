"""The catalogue a fresh installation offers: regions, types, kernels, images, hosts and address pools."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

from django.db import models, transaction

from compute.models import AddressPool, Host, Image, InstanceType, Kernel
from compute.models.addresses import LINK_LOCAL_GATEWAY
from compute.services.pools import fill_pool
from regions.models import Region

CATALOGUE = Path(__file__).resolve().parent.parent / "data" / "catalogue.json"

# Nothing here is routed anywhere: the benchmark range, the documentation ranges and private space. The
# documentation range 198.51.100.0/24 and 2001:db8:1::/48 to :b::/48 belong to the regions' resolvers.
PUBLIC = list(IPv4Network("198.18.0.0/15").subnets(new_prefix=20))
EXTRA_PUBLIC = [IPv4Network("192.0.2.0/24"), IPv4Network("203.0.113.0/24")]
PRIVATE, PRIVATE_PREFIX = IPv4Network("10.0.0.0/8"), 20
SLAAC = IPv6Network("2001:db8:1000::/36")
ROUTED, ROUTED_PREFIX = IPv6Network("2001:db8:2000::/36"), 44


def seed(update: bool = False) -> dict[str, int]:
    """Bring in what is missing, in one transaction, and return the number of new rows by table.

    Rows that exist are left as staff keep them; with `update` they get the file's values again.
    """
    data = json.loads(CATALOGUE.read_text())
    with transaction.atomic():
        before = _counts()
        regions = [_region(item) for item in data["regions"]]
        _insert(regions, update)
        _insert(map(_type, data["types"]), update)
        _insert(map(_kernel, data["kernels"]), update)
        _insert(map(_image, data["images"]), update)
        _add_hosts(regions)
        _add_pools(regions)
        return {name: count - before[name] for name, count in _counts().items()}


def _counts() -> dict[str, int]:
    tables = (Region, InstanceType, Kernel, Image, Host, AddressPool)
    return {str(table._meta.verbose_name_plural): table._default_manager.count() for table in tables}


def _insert(rows: Iterable[models.Model], update: bool) -> None:
    rows = list(rows)
    table = type(rows[0])
    if not update:
        table._default_manager.bulk_create(rows, ignore_conflicts=True)
        return
    columns = [field.name for field in table._meta.concrete_fields if not field.primary_key]
    table._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=columns)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _region(item: dict[str, Any]) -> Region:
    return Region(
        id=item["id"],
        country=item["country"],
        capabilities=item["capabilities"],
        status=item["status"],
        resolvers_ipv4=item["resolvers"]["ipv4"],
        resolvers_ipv6=item["resolvers"]["ipv6"],
    )


def _type(item: dict[str, Any]) -> InstanceType:
    price, backup_price = item["price"], item["backup_price"] or {}
    plain = ("id", "label", "memory", "disk", "vcpus", "gpus", "transfer", "network_out", "deprecated")
    return InstanceType(
        **{name: item[name] for name in plain},
        type_class=item["class"],
        price_hourly=price["hourly"],
        price_monthly=price["monthly"],
        backup_price_hourly=backup_price.get("hourly"),
        backup_price_monthly=backup_price.get("monthly"),
        successor_id=item["successor"],
    )


def _kernel(item: dict[str, Any]) -> Kernel:
    plain = ("id", "label", "version", "kvm", "architecture", "pvops", "deprecated")
    built = _moment(item["built"]) if item["built"] else None
    return Kernel(**{name: item[name] for name in plain}, xen=not item["kvm"], built=built)


def _image(item: dict[str, Any]) -> Image:
    plain = ("id", "label", "vendor", "size", "deprecated")
    return Image(
        **{name: item[name] for name in plain},
        is_public=True,
        created=_moment(item["created"]),
        updated=_moment(item["created"]),
        eol=_moment(item["eol"]) if item["eol"] else None,
    )


def _add_hosts(regions: list[Region]) -> None:
    """Two hosts for each region that has none yet."""
    inhabited = set(Host.objects.values_list("region_id", flat=True))
    Host.objects.bulk_create(
        Host(label=f"{region.pk}-h{number}", region=region)
        for region in regions
        if region.pk not in inhabited
        for number in (1, 2)
    )


def _networks(
    regions: list[Region],
) -> Iterator[tuple[Region, AddressPool.Kind, IPv4Network | IPv6Network]]:
    """Which networks each region starts with; they follow from its place in the catalogue."""
    private = PRIVATE.subnets(new_prefix=PRIVATE_PREFIX)
    slaac = SLAAC.subnets(new_prefix=64)
    routed = ROUTED.subnets(new_prefix=ROUTED_PREFIX)
    for region, public in zip(regions, PUBLIC, strict=False):
        yield region, AddressPool.Kind.PUBLIC, public
        yield region, AddressPool.Kind.PRIVATE, next(private)
        yield region, AddressPool.Kind.SLAAC, next(slaac)
        yield region, AddressPool.Kind.ROUTED, next(routed)
    for region, public in zip(regions, EXTRA_PUBLIC, strict=False):
        yield region, AddressPool.Kind.PUBLIC, public


def _add_pools(regions: list[Region]) -> None:
    known = set(AddressPool.objects.values_list("network", flat=True))
    for region, kind, network in _networks(regions):
        if str(network) not in known:
            gateway = LINK_LOCAL_GATEWAY if kind == AddressPool.Kind.ROUTED else str(network[1])
            pool = AddressPool.objects.create(region=region, kind=kind, network=str(network), gateway=gateway)
            fill_pool(pool)
