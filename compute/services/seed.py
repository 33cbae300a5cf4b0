"""The catalogue of a fresh installation (types, kernels, images, scripts, prices), and demo regions for tests."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction

from compute.models import AddressPool, Host, Image, InstanceType, Kernel, ResourcePrice, SeededRow, StackScript
from compute.models.catalogue import PUBLIC_CREATOR
from compute.models.networking.addresses import LINK_LOCAL_GATEWAY
from compute.services.networking.pools import fill_pool
from compute.services.stackscripts.fields import read_fields
from config.errors import Problems
from regions.models import Region

OWN_SECTION = "*"
"""The key of a `SeededRow` that stands for its whole kind. The operator keeps these rows in a catalogue file
(`compute.services.catalogue`), so `seed` neither adds to them nor resets them."""
STEP = 10
"""The distance between the positions of two rows of the file. Staff may place rows of their own between them."""
DATA = Path(__file__).resolve().parent.parent / "data"
CATALOGUE = DATA / "catalogue.json"
SCRIPTS = DATA / "scripts.json"
PRICES = DATA / "prices.json"
AUTHOR = "skerry"
"""The author of the platform's own scripts, as clients see it."""

# None of these networks is routed: the benchmark range, the documentation ranges and private space. The
# documentation range 198.51.100.0/24 and 2001:db8:1::/48 to :b::/48 belong to the regions' resolvers.
# Clients know public addresses by the prefix 24, and private ones by 192.168.
PUBLIC, PUBLIC_PREFIX = list(IPv4Network("198.18.0.0/15").subnets(new_prefix=20)), 24
EXTRA_PUBLIC = [IPv4Network("192.0.2.0/24"), IPv4Network("203.0.113.0/24")]
PRIVATE_PREFIX = 21
EARLIER_PRIVATE = list(IPv4Network("10.0.0.0/12").subnets(new_prefix=20))
"""The private pools of regions by their position in the catalogue, as earlier releases seeded them."""
SLAAC = IPv6Network("2001:db8:1000::/36")
ROUTED, ROUTED_PREFIX = IPv6Network("2001:db8:2000::/36"), 44


def seed(update: bool = False, demo: bool = False) -> dict[str, int]:
    """Insert the types, kernels, images, scripts and prices that are missing, in one transaction. Return the number
    of new rows by table.

    With `demo` also regions, each with two hosts and address pools that are routed nowhere. Existing rows stay as
    staff keep them. With `update`, rows of the file get its values again. A row that was seeded before and is
    missing was deleted, and is not inserted again. Rows that the operator keeps in a catalogue file are left alone.
    """
    data = json.loads(CATALOGUE.read_text())
    with transaction.atomic():
        with connection.cursor() as cursor:  # of two seeds at once, the second finds the rows of the first
            cursor.execute(f"LOCK TABLE {SeededRow._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
        before, own = _counts(), own_sections()
        for kind, rows in (
            (SeededRow.Kind.TYPE, map(_type, data["types"])),
            (SeededRow.Kind.KERNEL, map(_kernel, data["kernels"])),
            (SeededRow.Kind.IMAGE, map(_image, data["images"])),
            (SeededRow.Kind.PRICE, map(_resource_price, json.loads(PRICES.read_text(), parse_float=Decimal))),
        ):
            if kind not in own:
                _bring(kind, rows, update)
        _bring_scripts(json.loads(SCRIPTS.read_text()), update)
        if demo:
            _bring_places([_region(item) for item in data["regions"]], update, own)
        return {name: count - before[name] for name, count in _counts().items()}


def own_sections() -> set[str]:
    """Return the kinds of row that the operator keeps in a catalogue file."""
    return set(SeededRow.objects.filter(key=OWN_SECTION).values_list("kind", flat=True))


def _counts() -> dict[str, int]:
    tables = (Region, InstanceType, Kernel, Image, StackScript, ResourcePrice, Host, AddressPool)
    return {str(table._meta.verbose_name_plural): table._default_manager.count() for table in tables}


def _unseeded(kind: str, keys: Iterable[str]) -> set[str]:
    """Return the keys that were never seeded before, and record them as seeded."""
    fresh = set(keys) - set(SeededRow.objects.filter(kind=kind).values_list("key", flat=True))
    SeededRow.objects.bulk_create(SeededRow(kind=kind, key=key) for key in sorted(fresh))
    return fresh


def _bring(kind: str, rows: Iterable[Any], update: bool) -> None:
    """Insert the missing rows, in the order of the file; with `update`, reset the others."""
    rows = list(rows)
    table = type(rows[0])
    if table is not ResourcePrice:  # no list of clients has prices
        for number, row in enumerate(rows, 1):
            row.position = number * STEP
    there = set(table._default_manager.values_list("pk", flat=True))
    fresh = _unseeded(kind, (row.pk for row in rows)) - there
    if table is InstanceType:
        _drop_successors(rows, there | fresh)
    table._default_manager.bulk_create(row for row in rows if row.pk in fresh)
    known = [row for row in rows if row.pk in there]
    if update and known:
        table._default_manager.bulk_update(known, _COLUMNS[table])


def _drop_successors(types: list[Any], there: set[str]) -> None:
    """Clear the successors that staff have deleted."""
    for each in types:
        if each.successor_id not in there:
            each.successor_id = None


def _bring_scripts(items: list[dict[str, Any]], update: bool) -> None:
    """Insert the platform's own scripts that are missing, by their labels; with `update`, reset the others."""
    own = {script.label: script for script in StackScript.objects.filter(account=None)}
    fresh = _unseeded(SeededRow.Kind.SCRIPT, (item["label"] for item in items)) - own.keys()
    wanted = {item["label"]: _script(item) for item in items}
    StackScript.objects.bulk_create(wanted[label] for label in wanted if label in fresh)
    if update:
        for label in wanted.keys() & own.keys():
            wanted[label].pk = own[label].pk
        known = [script for script in wanted.values() if script.label in own]
        StackScript.objects.bulk_update(known, ["description", "images", "script", "user_defined_fields"])


def _script(item: dict[str, Any]) -> StackScript:
    script = StackScript(
        username=AUTHOR,
        label=item["label"],
        description=item["description"],
        images=item["images"],
        is_public=True,
        script=(DATA / "scripts" / item["file"]).read_text(),
    )
    problems = Problems()
    script.user_defined_fields = read_fields(script.script, problems)
    problems.raise_any()
    return script


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
        created_by=PUBLIC_CREATOR,
        created=_moment(item["created"]),
        updated=_moment(item["created"]),
        eol=_moment(item["eol"]) if item["eol"] else None,
    )


def _resource_price(item: dict[str, Any]) -> ResourcePrice:
    price = item["price"]
    return ResourcePrice(
        id=item["id"], hourly=price.get("hourly", 0), monthly=price.get("monthly"), each=price.get("each", 0)
    )


_COLUMNS: dict[type[models.Model], list[str]] = {
    Region: ["country", "capabilities", "status", "resolvers_ipv4", "resolvers_ipv6", "position"],
    InstanceType: [field.name for field in InstanceType._meta.concrete_fields if not field.primary_key],
    ResourcePrice: ["hourly", "monthly", "each"],
    Kernel: [field.name for field in Kernel._meta.concrete_fields if not field.primary_key],
    Image: [
        "label",
        "vendor",
        "size",
        "deprecated",
        "is_public",
        "created",
        "updated",
        "created_by",
        "eol",
        "position",
    ],
}
"""The columns that `update` sets to the file's values again. A region that was retired stays retired."""


# --- Places to try things out -----------------------------------------------------------------------------


def _bring_places(regions: list[Region], update: bool, own: set[str]) -> None:
    if SeededRow.Kind.REGION not in own:
        _bring(SeededRow.Kind.REGION, regions, update)
    there = set(Region.objects.values_list("pk", flat=True))
    if SeededRow.Kind.HOST not in own:
        _add_hosts([region for region in regions if region.pk in there])
    if SeededRow.Kind.POOL not in own:
        _add_pools(regions, there)


def _add_hosts(regions: list[Region]) -> None:
    """Add two hosts to each region without hosts, unless a host elsewhere has the label."""
    wanted = {f"{region.pk}-h{number}": region for region in regions for number in (1, 2)}
    fresh = _unseeded(SeededRow.Kind.HOST, wanted)
    known = list(Host.objects.values_list("label", "region_id"))
    taken, inhabited = {label for label, _ in known}, {region for _, region in known}
    Host.objects.bulk_create(
        Host(label=label, region=region)
        for label, region in wanted.items()
        if label in fresh - taken and region.pk not in inhabited
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A network that a region starts with. `earlier` is the network that earlier releases seeded instead."""

    region: Region
    kind: AddressPool.Kind
    network: IPv4Network | IPv6Network
    earlier: IPv4Network | None = None


def _networks(regions: list[Region]) -> Iterator[_Wanted]:
    """Yield the networks that each region starts with; they follow from its position in the catalogue."""
    private = settings.PRIVATE_NETWORK.subnets(new_prefix=PRIVATE_PREFIX)
    slaac = SLAAC.subnets(new_prefix=64)
    routed = ROUTED.subnets(new_prefix=ROUTED_PREFIX)
    for region, block, earlier in zip(regions, PUBLIC, EARLIER_PRIVATE, strict=False):
        for public in block.subnets(new_prefix=PUBLIC_PREFIX):
            yield _Wanted(region, AddressPool.Kind.PUBLIC, public, block)
        yield _Wanted(region, AddressPool.Kind.PRIVATE, next(private), earlier)
        yield _Wanted(region, AddressPool.Kind.SLAAC, next(slaac))
        yield _Wanted(region, AddressPool.Kind.ROUTED, next(routed))
    for region, public in zip(regions, EXTRA_PUBLIC, strict=False):
        yield _Wanted(region, AddressPool.Kind.PUBLIC, public)


def _add_pools(regions: list[Region], there: set[str]) -> None:
    """Add the pools of the regions that exist, except where staff have a pool that overlaps.

    A network is not added if an earlier release seeded another one in its place, even if staff deleted that one. A
    region with private addresses keeps them, even if the setting PRIVATE_NETWORK has changed.
    """
    noted = set(SeededRow.objects.filter(kind=SeededRow.Kind.POOL).values_list("key", flat=True))
    wanted = [each for each in _networks(regions) if each.region.pk in there and str(each.earlier) not in noted]
    fresh = _unseeded(SeededRow.Kind.POOL, (str(each.network) for each in wanted))
    pools = list(AddressPool.objects.all())
    known = [ip_network(pool.network) for pool in pools]
    private = {pool.region_id for pool in pools if pool.kind == AddressPool.Kind.PRIVATE}
    for each in wanted:
        kept = each.kind == AddressPool.Kind.PRIVATE and each.region.pk in private
        if str(each.network) in fresh and not kept and not any(_overlap(each.network, other) for other in known):
            gateway = LINK_LOCAL_GATEWAY if each.kind == AddressPool.Kind.ROUTED else str(each.network[1])
            pool = AddressPool.objects.create(
                region=each.region, kind=each.kind, network=str(each.network), gateway=gateway
            )
            fill_pool(pool)


def _overlap(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    return one.version == other.version and one.overlaps(other)
