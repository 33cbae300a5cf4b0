"""The present rows of each section, and the uses of each row. The number of queries is fixed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Model, Q, QuerySet

from accounts.models import Account, TrustLevel
from accounts.quotas import LEVELS
from compute.models import (
    Address,
    AddressPool,
    Backup,
    Config,
    Disk,
    Host,
    Image,
    Instance,
    InstanceType,
    IPv6Range,
    Job,
    Kernel,
    NodeBalancer,
    ResourcePrice,
    StackScript,
)
from compute.services.catalogue.schema import ITEMS
from compute.services.instances.deploy import DEPLOYED_KERNEL
from config.display.plurals import counted
from regions.models import Region

_KERNELS_OF_BACKUPS = f"""
SELECT DISTINCT profile ->> 'kernel_id' FROM {Backup._meta.db_table}, jsonb_array_elements(profiles) AS profile
"""  # noqa: S608 - no value of anybody's
DEFAULT_KERNEL = str(Config._meta.get_field("kernel").get_default())
PLATFORM_KERNELS = {
    DEFAULT_KERNEL: "configuration profiles have it by default",
    DEPLOYED_KERNEL: "what is deployed from an image boots with it",
}
"""Kernels that the platform itself names, and the purpose of each."""


def rows_of(section: str) -> QuerySet:
    """Return the rows of a section, in the order of the lists. Customers' own images are not included."""
    querysets: dict[str, QuerySet] = {
        "regions": Region.objects.order_by("position", "pk"),
        "types": InstanceType.objects.order_by("position", "pk"),
        "kernels": Kernel.objects.order_by("position", "pk"),
        "images": Image.objects.filter(account=None, number=None).order_by("position", "pk"),
        "pools": AddressPool.objects.order_by("region__position", "region_id", "kind", "pk"),
        "hosts": Host.objects.order_by("region__position", "region_id", "label"),
        "prices": ResourcePrice.objects.order_by("pk"),
        "trust_levels": TrustLevel.objects.order_by("pk"),
    }
    return querysets[section]


@dataclass(frozen=True, slots=True)
class Present:
    """The rows by section and name, in the order of the lists, and a description of their uses by the same keys."""

    rows: dict[str, dict[str, Model]]
    uses: dict[str, dict[str, str]]

    def used_by(self, section: str, name: str) -> str | None:
        return self.uses.get(section, {}).get(name)


def present(sections: Iterable[str]) -> Present:
    """Return the rows of all sections, since they name each other, and the uses of the rows of `sections`."""
    rows = {
        section: {str(getattr(row, item.key)): row for row in rows_of(section)} for section, item in ITEMS.items()
    }
    uses = {
        section: find(rows[section])
        for section, find in (
            ("types", _uses_of_types), ("kernels", _uses_of_kernels), ("images", _uses_of_images),
            ("pools", _uses_of_pools), ("trust_levels", _uses_of_trust_levels),
        )
        if section in sections
    }  # fmt: skip
    return Present(rows, uses)


def _uses_of_types(rows: dict[str, Model]) -> dict[str, str]:
    found = {
        name: counted(number, "compute has it", "computes have it")
        for name, number in Instance.objects.order_by().values_list("type").annotate(number=Count("pk"))
    }
    return _named_by_jobs("type") | found


def _uses_of_kernels(rows: dict[str, Model]) -> dict[str, str]:
    found = {
        name: counted(number, "configuration profile boots it", "configuration profiles boot it")
        for name, number in Config.objects.order_by().values_list("kernel").annotate(number=Count("pk"))
    }
    with connection.cursor() as cursor:
        cursor.execute(_KERNELS_OF_BACKUPS)
        for (name,) in cursor.fetchall():
            found.setdefault(name, "a backup has it")
    for name in PLATFORM_KERNELS:
        found.setdefault(name, "the platform boots new computes with it")
    return found


def _uses_of_images(rows: dict[str, Model]) -> dict[str, str]:
    found: dict[str, str] = {}
    for model in (Instance, Disk):
        names = model._default_manager.exclude(image=None).order_by().values_list("image", flat=True).distinct()
        found |= dict.fromkeys(names, "computes were deployed from it")
    for label, images in Host.objects.exclude(images=None).order_by("pk").values_list("label", "images"):
        for name in images or ():
            found.setdefault(name, f"host {label} has it")
    for images in StackScript.objects.order_by().values_list("images", flat=True).distinct():
        for name in images:
            found.setdefault(name, "deployment scripts name it")
    return _named_by_jobs("image") | found


def _named_by_jobs(noun: str) -> dict[str, str]:
    """Return the rows that unfinished jobs name: those that instances will get, and those that they had before."""
    keys = [noun, f"previous_{noun}"]
    waiting = Job.objects.filter(finished_at=None, data__has_any_keys=keys)
    named = {name for names in waiting.values_list(*(f"data__{key}" for key in keys)) for name in names}
    return dict.fromkeys(map(str, named), "a job that waits needs it")


def _uses_of_trust_levels(rows: dict[str, Model]) -> dict[str, str]:
    """Return the levels that accounts have, without the built-in ones: they exist without a row."""
    accounts = Account.objects.exclude(trust_level__in=LEVELS).order_by().values_list("trust_level")
    return {
        name: counted(number, "account has it", "accounts have it")
        for name, number in accounts.annotate(number=Count("pk"))
    }


def _uses_of_pools(rows: dict[str, Any]) -> dict[str, str]:
    taken = Address.objects.exclude(instance=None, nodebalancer=None).order_by().values_list("pool")
    cut = IPv6Range.objects.order_by().values_list("pool")
    addresses, ranges = (dict(each.annotate(number=Count("pk"))) for each in (taken, cut))
    of_instances = Q(instances__ipv6__isnull=False)
    slaac = Counter(dict(Region.objects.filter(of_instances).values_list("pk").annotate(number=Count("instances"))))
    balancers = NodeBalancer.objects.filter(ipv6__isnull=False).order_by().values_list("region")
    slaac += Counter(dict(balancers.annotate(number=Count("pk"))))
    found = {}
    for name, row in rows.items():
        numbers = {AddressPool.Kind.SLAAC: slaac[row.region_id], AddressPool.Kind.ROUTED: ranges.get(row.pk, 0)}
        number = numbers.get(AddressPool.Kind(row.kind), addresses.get(row.pk, 0))
        if number:
            noun = "range of it is" if row.kind == AddressPool.Kind.ROUTED else "address of it is"
            nouns = "ranges of it are" if row.kind == AddressPool.Kind.ROUTED else "addresses of it are"
            found[name] = counted(number, f"{noun} in use", f"{nouns} in use")
    return found
