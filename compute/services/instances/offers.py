"""Regions, images and types for a new instance, each with the API's reason if it cannot be chosen now.

The choices depend on each other in one direction, so that no choice makes all others unavailable. Images depend on
the region, types on the region, the image and the account's quotas. A region is unavailable only if it takes no
instance of any type.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model

from accounts.actors import Actor
from accounts.services.quotas import Resources, resources_of
from compute.models import Backup, Host, Image, Instance, InstanceType
from compute.services.backups.restores import place_refusal
from compute.services.common.regions import capability_of
from compute.services.hosts.deployable import IS_DEPLOYABLE, NOT_THERE
from compute.services.hosts.placement import FITS, REGION_FULL
from compute.services.instances.deploy import DEFAULT_SWAP, is_available
from compute.services.instances.instances import restore_refusal, space_refusal
from compute.services.usage.metering import counts_of
from regions.models import Region

T = TypeVar("T", bound=Model)

LONG_TERM = (re.compile(r"Debian (\d+)"), re.compile(r"Ubuntu (\d+)\.(\d+) LTS"))
"""Labels of long-term releases, which are suggested. Releases of the first distribution come before the others."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The ids that a user has chosen so far, None for no choice, and the MB of the swap disk.

    If the instance is made from a `backup`, there is no image and no swap disk to choose.
    """

    region: str | None = None
    image: str | None = None
    type: str | None = None
    swap_size: int = DEFAULT_SWAP
    backup: Backup | None = None


@dataclass(frozen=True, slots=True)
class Offer(Generic[T]):
    """A row of the catalogue. `reason` says why it cannot be chosen, and is empty if it can."""

    item: T
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """All choices in the order of the catalogue, and the chosen ones; None if nothing available is chosen.

    `images` are those that the actor may use, the account's own first. Types that are no longer sold are left out.
    """

    regions: Sequence[Offer[Region]]
    images: Sequence[Offer[Image]]
    types: Sequence[Offer[InstanceType]]
    region: Region | None
    image: Image | None
    type: InstanceType | None


def find_offers(actor: Actor, wanted: Wanted, *, suggest: bool = False) -> Offers:
    """Find the choices that `actor` has, by six queries. With `suggest`, make the missing choices too.

    The suggested choices are available together. They are those of the backup's instance, or else of the account's
    last instance that the actor sees. If these are unavailable, they are the first region, the newest long-term
    release, and the cheapest type.
    """
    backup = wanted.backup
    last = _last(actor, backup) if suggest else {}
    types = list(InstanceType.objects.filter(deprecated=False).order_by("position", "id"))
    hoped = _find(types, wanted.type) or _find(types, last.get("type_id")) or _cheapest(types)

    rooms = _find_rooms(hoped)
    regions = [
        Offer(each, _region_refusal(each, types, rooms[each.pk].any_type, backup))
        for each in Region.objects.order_by("position", "id")
        if each.pk in rooms
    ]
    region = _chosen(regions, wanted.region)
    if suggest and wanted.region is None:
        takes = [
            each for each in regions
            if rooms[each.item.pk].wanted_type and not each.item.refusal(capability_of(hoped))
        ]  # fmt: skip
        region = _chosen(takes, last.get("region_id")) or _first(takes) or _first(regions)

    usable = Image.objects.none() if backup else Image.objects.visible_to(actor)
    found = _own_first(usable.order_by("position", "id"))
    fits, deployed = _find_taken(region, found)
    images = [Offer(each, _image_refusal(each, deployed)) for each in found]
    image = _chosen(images, wanted.image)
    if suggest and wanted.image is None:
        current = [each for each in images if not each.item.deprecated]
        image = _chosen(current, last.get("image_id")) or _newest(current) or _first(current)

    quotas = resources_of(actor.account_id)
    plans = [Offer(each, _type_refusal(each, region, image, wanted, fits, quotas)) for each in types]
    plan = _chosen(plans, wanted.type)
    if suggest and wanted.type is None:
        plan = _chosen(plans, hoped.pk if hoped else None) or _cheapest(_available(plans))
    return Offers(regions, images, plans, region, image, plan)


# --- choosing -----------------------------------------------------------------------------------------


def _last(actor: Actor, backup: Backup | None) -> Mapping[str, Any]:
    """Return the choices of the backup's instance, or without a backup of the newest instance that the actor
    sees."""
    rows = Instance.objects.visible_to(actor).order_by("-pk")
    if backup:
        rows = rows.filter(pk=backup.instance_id)
    last: Mapping[str, Any] | None = rows.values("region_id", "image_id", "type_id").first()
    return last or {}


def _find(rows: Iterable[T], key: str | None) -> T | None:
    return next((row for row in rows if row.pk == key), None)


def _available(offers: Iterable[Offer[T]]) -> list[T]:
    return [offer.item for offer in offers if not offer.reason]


def _chosen(offers: Iterable[Offer[T]], key: str | None) -> T | None:
    return _find(_available(offers), key)


def _first(offers: Iterable[Offer[T]]) -> T | None:
    return next(iter(_available(offers)), None)


def _cheapest(types: Iterable[InstanceType]) -> InstanceType | None:
    return min(types, key=lambda plan: plan.price_monthly, default=None)


def _own_first(images: Iterable[Image]) -> list[Image]:
    return sorted(images, key=lambda image: image.is_public)


def _newest(images: Iterable[Offer[Image]]) -> Image | None:
    """Return the newest long-term release among the available official images."""
    official = [image for image in _available(images) if image.account_id is None]
    for pattern in LONG_TERM:
        releases = [(version_of(image), image) for image in official if pattern.fullmatch(image.label)]
        if releases:
            return max(releases, key=lambda release: release[0])[1]
    return None


def version_of(image: Image) -> tuple[int, ...]:
    """Return the numbers in an image's label, by which versions are compared: ``(22, 4)`` of *Ubuntu 22.04 LTS*."""
    return tuple(int(number) for number in re.findall(r"\d+", image.label))


# --- reasons ------------------------------------------------------------------------------------------


def _region_refusal(region: Region, types: Sequence[InstanceType], has_room: bool, backup: Backup | None) -> str:
    if backup and (refusal := place_refusal(backup, region.pk)):
        return refusal
    refusals = [region.refusal(capability_of(plan)) for plan in types]
    if refusals and all(refusals):
        return refusals[0] or ""
    return "" if has_room else REGION_FULL


def readiness_refusal(image: Image) -> str:
    """Return why no disk can be deployed from the image now; empty if one can."""
    return "" if is_available(image) else f"This image is not ready: its status is {image.status}."


def _image_refusal(image: Image, deployed: set[str] | None) -> str:
    if refusal := readiness_refusal(image):
        return refusal
    return "" if deployed is None or image.pk in deployed else NOT_THERE


def _type_refusal(
    plan: InstanceType,
    region: Region | None,
    image: Image | None,
    wanted: Wanted,
    fits: set[str] | None,
    quotas: Resources,
) -> str:
    refusal = region.refusal(capability_of(plan)) if region else None
    if refusal is None and fits is not None and plan.pk not in fits:
        refusal = REGION_FULL
    if refusal is None and image:
        refusal = space_refusal(image, plan, wanted.swap_size)
    if not refusal and wanted.backup:
        refusal = restore_refusal(wanted.backup, plan)
    return refusal or next(quotas.refusals(counts_of(plan)), "")


# --- capacity -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Room:
    """Tells whether a region has a host with capacity for an instance of any type, and of the wanted type."""

    any_type: bool
    wanted_type: bool


def _find_rooms(wanted: InstanceType | None) -> dict[str, _Room]:
    """Return the room of each region. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_rooms(), {"type": wanted.pk if wanted else None})
        return {region: _Room(*found) for region, *found in cursor.fetchall()}


def _find_taken(region: Region | None, images: Sequence[Image]) -> tuple[set[str] | None, set[str] | None]:
    """Return the types that fit on a host of the region, and the images that a host there can deploy. One query.

    Both are None without a region.
    """
    if region is None:
        return None, None
    with connection.cursor() as cursor:
        cursor.execute(_taken(), {"region": region.pk, "images": [image.pk for image in images]})
        types, deployed = cursor.fetchone()
    return set(types), set(deployed)


_FITS = FITS.format(memory="t.memory", vcpus="t.vcpus", disk="t.disk")


@cache
def _rooms() -> str:
    types, hosts, regions = (model._meta.db_table for model in (InstanceType, Host, Region))
    fits = f"EXISTS (SELECT FROM {hosts} h WHERE h.region_id = r.id AND {_FITS})"
    return f"""
        SELECT r.id,
               EXISTS (SELECT FROM {types} t WHERE NOT t.deprecated AND {fits}),
               EXISTS (SELECT FROM {types} t WHERE t.id = %(type)s::text AND {fits})
          FROM {regions} r
    """  # noqa: S608 - made of the models' own names


@cache
def _taken() -> str:
    types, hosts, images = (model._meta.db_table for model in (InstanceType, Host, Image))
    deploys = IS_DEPLOYABLE.format(image="i", host="h")
    return f"""
        SELECT ARRAY(SELECT t.id FROM {types} t
                      WHERE EXISTS (SELECT FROM {hosts} h WHERE h.region_id = %(region)s AND {_FITS})),
               ARRAY(SELECT i.id FROM {images} i
                      WHERE i.id = ANY(%(images)s)
                        AND EXISTS (SELECT FROM {hosts} h WHERE h.region_id = %(region)s AND {deploys}))
    """  # noqa: S608 - made of the models' own names
