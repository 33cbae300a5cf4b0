"""Ids for the examples of the API reference, on an installation that lacks rows of the seeded catalogue."""

import json
from collections.abc import Collection
from functools import cache
from itertools import cycle
from typing import Any

from django.db.models import Case, QuerySet, Value, When

from compute.models import Host, Image, InstanceType, Kernel
from compute.services.seed import CATALOGUE
from regions.models import Region

CAPABILITIES = ["Computes", "Block Storage", "NodeBalancers"]
"""The capabilities that a region needs for all examples."""
MAX_HOSTS = 100
"""Limit for the distinct lists of images that are read from hosts."""


def installed_ids(sent: frozenset[str], answered: frozenset[str]) -> dict[str, str]:
    """Map the seeded ids that have to be replaced to the ids to show.

    `sent` and `answered` are the texts of example requests and answers. An id of an answer is replaced if its row
    is missing. An id of a request is also replaced if a new instance cannot use its row, such as a retired region.
    The number of queries is fixed.
    """
    hosts = Host.objects.filter(enabled=True, maintenance=None)
    regions = (
        Region.objects.filter(retired=False, capabilities__contains=CAPABILITIES[:1], pk__in=hosts.values("region"))
        .alias(lacking=Case(When(capabilities__contains=CAPABILITIES, then=Value(0)), default=Value(1)))
        .order_by("lacking", "position", "pk")
    )
    types = InstanceType.objects.filter(deprecated=False).order_by("position", "pk")
    kernels = Kernel.objects.filter(deprecated=False, kvm=True).order_by("position", "pk")
    found = _replaced("regions", regions, sent, answered)
    places = [found.get(region, region) for region in seeded("regions") if region in sent]
    return {
        **found,
        **_replaced("types", types, sent, answered),
        **_replaced("images", _deployed(hosts.filter(region__in=places)), sent, answered),
        **_replaced("kernels", kernels, sent, answered),
    }


@cache
def seeded(section: str) -> tuple[str, ...]:
    """Return the ids of a section of the seeded catalogue, in the order of the catalogue."""
    return tuple(row["id"] for row in json.loads(CATALOGUE.read_text())[section])


def _deployed(hosts: QuerySet[Host]) -> QuerySet[Image]:
    """Return the public images that at least one of the hosts deploys."""
    images = Image.objects.filter(
        account=None, is_public=True, deprecated=False, status=Image.Status.AVAILABLE
    ).order_by("position", "pk")
    lists = list(hosts.values_list("images", flat=True).distinct()[:MAX_HOSTS])
    if None in lists:
        return images
    return images.filter(pk__in={image for each in lists for image in each or ()})


def _replaced(
    section: str, offered: QuerySet[Any], sent: Collection[str], answered: Collection[str]
) -> dict[str, str]:
    in_requests = [pk for pk in seeded(section) if pk in sent]
    in_answers = [pk for pk in seeded(section) if pk in answered and pk not in sent]
    usable = set(offered.filter(pk__in=in_requests).values_list("pk", flat=True))
    there = offered.model._default_manager.filter(pk__in=in_answers).values_list("pk", flat=True)
    missing = [pk for pk in (*in_requests, *in_answers) if pk not in usable | set(there)]
    others = list(offered.exclude(pk__in=usable).values_list("pk", flat=True)[: len(missing)]) or sorted(usable)
    return dict(zip(missing, cycle(others), strict=False))
