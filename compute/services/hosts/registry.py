"""Adding, checking and removing hosts: their rows, by the reports of their drivers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from django.conf import settings
from django.db import router, transaction
from django.db.models import ProtectedError
from django.db.models.deletion import Collector
from django.db.models.functions import Now
from django.utils.timezone import now

from compute.drivers.base import HostImage
from compute.models import Host, Image
from compute.models.catalogue import PUBLIC_CREATOR
from compute.services.hosts.placement import RESOURCES
from compute.services.hosts.reachability import BEING_ADDED
from config.db.rows import lock
from config.errors import Busy, Problems
from regions.models import Region

ANOTHER_DRIVER = "The hosts of a region have one driver, and those of this region have {driver}."
NO_DRIVER = "The driver does not exist. DRIVERS has: {names}."
MAX_LABEL_LENGTH, MAX_IMAGE_LABEL_LENGTH = 64, 50
VOLUMES = "Block Storage"
"""The capability of regions whose hosts all have the same volumes."""
USED = "The host has instances, or reserved room for instances that move to it. Move or delete the instances first."


@dataclass(frozen=True, slots=True)
class HostSpec:
    """A host to add. It takes no instances before it is checked."""

    label: str
    region: str
    driver: str
    location: str = ""
    shared: str = ""
    host_key: str = ""
    underlay: str | None = None
    """The IPv4 address at which the other hosts of the region reach it."""


@transaction.atomic
def add(spec: HostSpec) -> Host:
    """Add the row of a host, which takes no instances yet. Raises `Invalid` with every failing field."""
    return Host.objects.create(
        label=spec.label, region=check_new(spec), driver=spec.driver, location=spec.location, shared=spec.shared,
        host_key=spec.host_key, underlay=spec.underlay, images=[], enabled=False,
        **dict.fromkeys(RESOURCES, 0),
    )  # fmt: skip


@transaction.atomic
def check_new(spec: HostSpec) -> Region:
    """Lock and return the region of a host that can be added. Raises `Invalid` with every failing field."""
    problems = Problems()
    region = Region.objects.select_for_update(no_key=True).filter(pk=spec.region).first()
    if region is None:
        problems.add("region", "The region does not exist.")
    if spec.driver not in settings.DRIVERS:
        problems.add("driver", NO_DRIVER.format(names=", ".join(sorted(settings.DRIVERS))))
    elif region is not None:
        check_driver(region, spec.driver, problems)
    if not spec.label or len(spec.label) > MAX_LABEL_LENGTH:
        problems.add("label", "A label has 1 to 64 characters.")
    elif Host.objects.filter(label=spec.label).exists():
        problems.add("label", "Another host has this label.")
    if spec.underlay is not None:
        check_underlay(spec.underlay, problems)
    return problems.checked(region)


def check_underlay(address: str, problems: Problems, but: Host | None = None) -> None:
    """Add a problem on ``underlay`` if a host, other than `but`, cannot have this address between hosts."""
    try:
        found = IPv4Address(address)
    except ValueError:
        problems.add("underlay", "Must be an IPv4 address.")
        return
    if found.is_multicast or found.is_loopback or found.is_unspecified or found.is_reserved:
        problems.add("underlay", "Must be an address that other hosts can reach.")
        return
    others = Host.objects.filter(underlay=str(found))
    if (others.exclude(pk=but.pk) if but else others).exists():
        problems.add("underlay", "Another host has this address.")


def peers_of(host: Host) -> list[str]:
    """Return the addresses between hosts of the region's other hosts."""
    others = Host.objects.filter(region=host.region_id, underlay__isnull=False).exclude(pk=host.pk)
    return [str(address) for address in others.order_by("pk").values_list("underlay", flat=True)]


def tell_peers_soon(region: str) -> None:
    """Schedule comparisons of the region's hosts now: a comparison also tells a host the addresses of the
    others."""
    Host.objects.filter(region=region, reconcile_at__gt=Now()).update(reconcile_at=Now())


def check_driver(region: Region, driver: str, problems: Problems, but: Host | None = None) -> None:
    """Add a problem on ``driver`` if the region's hosts, other than `but`, have another driver.

    Instances move between the hosts of a region, and all of them must reach its volumes.
    """
    others = Host.objects.filter(region=region).exclude(driver=driver)
    other = others.exclude(pk=but.pk).first() if but else others.first()
    if other is not None:
        problems.add("driver", ANOTHER_DRIVER.format(driver=other.driver))


def offers_volumes(region: str) -> bool:
    return Region.objects.filter(pk=region, capabilities__contains=[VOLUMES]).exists()


@transaction.atomic
def withdraw_volumes(region: str) -> bool:
    """End a region's offer of volumes, because one of its hosts lacks them; returns whether the region offered
    volumes.

    Existing volumes stay. Staff may enable the offer again on the region's page.
    """
    locked = lock(Region.objects.filter(pk=region))
    if VOLUMES not in locked.capabilities:
        return False
    locked.capabilities = [each for each in locked.capabilities if each != VOLUMES]
    locked.save(update_fields=["capabilities"])
    return True


@transaction.atomic
def record(
    host: Host,
    capacity: Mapping[str, int | None],
    images: Collection[HostImage] | None,
    architectures: Collection[str] | None = None,
) -> Host:
    """Write the findings about a host to its row, and enable a host that is being added.

    A host that staff disabled or drained stays disabled.

    `capacity` is by `RESOURCES`; None leaves a value as staff have set it. A value is never below the present
    reservations: staff see such a host as full. `images` are those that the host can deploy, None for any. An
    unknown one becomes an official image. `architectures` are those of the kernels that its machines boot, None for
    any.
    """
    locked = lock(Host.objects.filter(pk=host.pk))
    if Host.objects.filter(BEING_ADDED, pk=host.pk).exists():
        locked.enabled = True
    for name in RESOURCES:
        found = capacity.get(name)
        if found is not None:
            setattr(locked, name, max(found, getattr(locked, f"{name}_used")))
    locked.images = None if images is None else sorted(image.id for image in images)
    for image in images or ():
        Image.objects.get_or_create(
            pk=image.id,
            defaults={
                "label": image.label[:MAX_IMAGE_LABEL_LENGTH],
                "size": image.size,
                "is_public": True,
                "created": now(),
                "updated": now(),
                "created_by": PUBLIC_CREATOR,
            },
        )
    locked.architectures = None if architectures is None else sorted(architectures)
    locked.save(update_fields=[*RESOURCES, "images", "architectures", "enabled"])
    if locked.underlay:
        tell_peers_soon(locked.region_id)
    return locked


@transaction.atomic
def close(host: Host) -> bool:
    """Disable a host without instances that is about to be removed. Return whether the host was enabled.

    Raises `Busy` if it has instances.
    """
    locked = lock(Host.objects.filter(pk=host.pk))
    try:
        Collector(using=router.db_for_write(Host), origin=locked).collect([locked])
    except ProtectedError as error:
        raise Busy(USED) from error
    Host.objects.filter(pk=host.pk).update(enabled=False)
    return locked.enabled


def reopen(host: Host) -> None:
    """Enable a host again that was not removed after all."""
    Host.objects.filter(pk=host.pk).update(enabled=True)


@transaction.atomic
def remove(host: Host) -> None:
    """Delete the row of a host without instances. Raises `Busy` if it has some."""
    try:
        locked = lock(Host.objects.filter(pk=host.pk))
        locked.delete()
    except ProtectedError as error:
        raise Busy(USED) from error
    if locked.underlay:
        tell_peers_soon(locked.region_id)
