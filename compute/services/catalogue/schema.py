"""The schema of a catalogue file: one class for each section, one attribute for each column that it sets."""

# ruff: noqa: RUF009 - `entry` makes a dataclass field

from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from django.db.models import Model

from accounts.models import TrustLevel
from compute.models import AddressPool, Host, Image, InstanceType, Kernel, ResourcePrice, SeededRow
from compute.services.catalogue import values
from compute.services.catalogue.values import Reader
from regions.models import Region

SECTIONS = ("regions", "types", "kernels", "images", "pools", "hosts", "prices", "trust_levels")
"""The sections of a file, in the order in which they are applied. Rows that others name come first."""
MAX_ITEMS = 3000
"""The most items of one section. Each item gets a position of its own (`compute.services.catalogue.planning`)."""


class Unstated:
    """The value of an attribute that the file does not set: the row keeps its value."""

    def __repr__(self) -> str:
        return "unstated"


UNSTATED: Any = Unstated()


def entry(read: Reader, at: str = "", default: Any = MISSING, factory: Any = MISSING) -> Any:
    """Define an attribute. Its value in the file is at the path `at` (``price.hourly``), and is read by `read`.

    An attribute without a default is required.
    """
    return field(default=default, default_factory=factory, metadata={"read": read, "at": at})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of a section. `key` is the attribute that identifies an item and its row."""

    model: ClassVar[type[Model]]
    seeded_as: ClassVar[SeededRow.Kind]
    key: ClassVar[str] = "id"
    fixed: ClassVar[tuple[str, ...]] = ()
    """Attributes that cannot change while the row is used."""
    ordered: ClassVar[bool] = True
    """Whether lists are in the file's order."""

    @property
    def name(self) -> str:
        return str(getattr(self, self.key))

    def stated(self) -> dict[str, Any]:
        """Return the values of all columns that the file sets, by attribute."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value is not UNSTATED}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionItem(Item):
    model = Region
    seeded_as = SeededRow.Kind.REGION

    id: str = entry(values.slug(50))
    country: str = entry(values.country)
    capabilities: list[str] = entry(values.texts(64), factory=lambda: ["Computes"])
    status: str = entry(values.one_of(Region.Status.values), default=Region.Status.OK.value)
    retired: bool = entry(values.flag, default=False)
    resolvers_ipv4: str = entry(values.addresses(4), "resolvers.ipv4", default="")
    resolvers_ipv6: str = entry(values.addresses(6), "resolvers.ipv6", default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeItem(Item):
    model = InstanceType
    seeded_as = SeededRow.Kind.TYPE
    fixed = ("type_class", "memory", "disk", "vcpus", "gpus")

    id: str = entry(values.slug(50))
    label: str = entry(values.text(64))
    type_class: str = entry(values.one_of(InstanceType.Class.values), "class", default="standard")
    memory: int = entry(values.size)
    disk: int = entry(values.size)
    vcpus: int = entry(values.number(1))
    gpus: int = entry(values.number(), default=0)
    transfer: int = entry(values.number())
    network_out: int = entry(values.number(1, InstanceType.MAX_NETWORK_OUT))
    price_hourly: float = entry(values.price, "price.hourly")
    price_monthly: float = entry(values.price, "price.monthly")
    backup_price_hourly: float | None = entry(values.optional(values.price), "backup_price.hourly", default=None)
    backup_price_monthly: float | None = entry(values.optional(values.price), "backup_price.monthly", default=None)
    successor_id: str | None = entry(values.optional(values.slug(50)), "successor", default=None)
    deprecated: bool = entry(values.flag, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelItem(Item):
    model = Kernel
    seeded_as = SeededRow.Kind.KERNEL
    fixed = ("architecture",)

    id: str = entry(values.official)
    label: str = entry(values.text(128))
    version: str = entry(values.text(32, empty=True))
    architecture: str = entry(values.one_of(Kernel.Architecture.values), default=Kernel.Architecture.X86_64.value)
    kvm: bool = entry(values.flag, default=True)
    xen: bool = entry(values.flag, default=False)
    pvops: bool = entry(values.flag, default=True)
    built: datetime | None = entry(values.optional(values.moment), default=None)
    deprecated: bool = entry(values.flag, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageItem(Item):
    model = Image
    seeded_as = SeededRow.Kind.IMAGE
    fixed = ("size",)

    id: str = entry(values.official)
    label: str = entry(values.text(50))
    vendor: str | None = entry(values.optional(values.text(64)), default=None)
    description: str | None = entry(values.optional(values.text(65_000, empty=True)), default=None)
    size: int = entry(values.size)
    created: datetime = entry(values.moment, default=UNSTATED)
    eol: datetime | None = entry(values.optional(values.moment), default=None)
    deprecated: bool = entry(values.flag, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolItem(Item):
    model = AddressPool
    seeded_as = SeededRow.Kind.POOL
    key = "network"
    fixed = ("region_id", "kind", "gateway")
    ordered = False

    network: str = entry(values.network)
    region_id: str = entry(values.slug(50), "region")
    kind: str = entry(values.one_of(AddressPool.Kind.values))
    gateway: str = entry(values.address())


@dataclass(frozen=True, slots=True, kw_only=True)
class HostItem(Item):
    model = Host
    seeded_as = SeededRow.Kind.HOST
    key = "label"
    fixed = ("region_id", "driver")
    ordered = False

    label: str = entry(values.text(64))
    region_id: str = entry(values.slug(50), "region")
    driver: str = entry(values.text(32), default=UNSTATED)
    memory: int = entry(values.capacity)
    vcpus: int = entry(values.number())
    disk: int = entry(values.capacity)
    enabled: bool = entry(values.flag, default=True)
    maintenance: bool = entry(values.flag, default=UNSTATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceItem(Item):
    model = ResourcePrice
    seeded_as = SeededRow.Kind.PRICE
    ordered = False

    id: str = entry(values.one_of(ResourcePrice.Kind.values))
    hourly: Decimal = entry(values.exact_price, "price.hourly", default=Decimal(0))
    monthly: Decimal | None = entry(values.optional(values.exact_price), "price.monthly", default=None)
    each: Decimal = entry(values.exact_price, "price.each", default=Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustLevelItem(Item):
    model = TrustLevel
    seeded_as = SeededRow.Kind.LEVEL
    ordered = False

    id: str = entry(values.slug(32))
    label: str = entry(values.text(64))
    limits: dict[str, int] = entry(values.limits, factory=dict)


ITEMS: dict[str, type[Item]] = {
    "regions": RegionItem,
    "types": TypeItem,
    "kernels": KernelItem,
    "images": ImageItem,
    "pools": PoolItem,
    "hosts": HostItem,
    "prices": PriceItem,
    "trust_levels": TrustLevelItem,
}

Catalogue = dict[str, list[Item]]
"""The items by section, in the file's order, without the sections that the file does not have."""


def attribute_paths(item: type[Item]) -> Iterator[tuple["Field[Any]", str]]:
    """Yield the attributes of a section, each with its path in the file."""
    for each in fields(item):
        yield each, each.metadata["at"] or each.name


def path_of(item: type[Item], attribute: str) -> str:
    """Return the path of an attribute in a file: ``price_hourly`` is ``price.hourly``."""
    return next(path for each, path in attribute_paths(item) if each.name == attribute)
