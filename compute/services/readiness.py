"""Checks of the rows that an installation needs before it has customers. For ``manage.py check --deploy``."""

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Count, Q

from compute.models import AddressPool, Heartbeat, Host, InstanceType, Kernel
from compute.services.catalogue.current_rows import PLATFORM_KERNELS
from compute.services.heartbeats import alive
from regions.models import Region

SHARED = ("ATTACHMENTS_DIR", "UPLOADS_DIR", "ARCHIVES_DIR")
"""Settings of folders in which processes of one machine leave files for processes of another."""


def findings() -> Iterator[tuple[str, str]]:
    """Yield the number and the sentence of each finding. A fixed number of queries."""
    yield from _processes()
    yield from _places()


def _processes() -> Iterator[tuple[str, str]]:
    running = Heartbeat.objects.filter(alive())
    found = running.aggregate(
        workers=Count("pk", filter=Q(kind="worker")),
        clocks=Count("pk", filter=Q(kind="clock")),
        machines=Count("hostname", distinct=True),
    )
    if not found["workers"]:
        yield "W030", "No worker runs: jobs, mails and checks of services wait."
    if not found["clocks"]:
        yield "W031", "No clock runs: no job is retried, and no scheduled backup begins."
    own = [name for name in SHARED if getattr(settings, name).is_relative_to(settings.STATE_DIR)]
    if found["machines"] > 1 and own:
        yield (
            "W032",
            f"{', '.join(own)} in STATE_DIR, but processes run on {found['machines']} machines. If these machines "
            "do not share STATE_DIR, each of them stores files that the others do not find.",
        )


def _places() -> Iterator[tuple[str, str]]:
    open_regions = Region.objects.filter(retired=False, capabilities__contains=["Computes"])
    open_hosts = Host.objects.filter(enabled=True, maintenance=None, region__in=open_regions)
    if not open_regions.exists():
        yield "W033", "No region offers Computes: nothing can be created (docs/catalogue.md)."
    elif not open_hosts.exists():
        yield (
            "W034",
            "No host of a region takes instances: every create is refused (docs/operating.md#the-first-region).",
        )
    public = AddressPool.objects.filter(kind=AddressPool.Kind.PUBLIC).values("region")
    without = [region.pk for region in open_regions.exclude(pk__in=public).order_by("position", "pk")]
    if without:
        yield (
            "W035",
            f"These regions have no public addresses: {', '.join(without)}. Every create there is refused.",
        )
    if not InstanceType.objects.filter(deprecated=False).exists():
        yield (
            "W036",
            "All types are deprecated or missing: add some with `manage.py seed` or `manage.py catalogue apply`.",
        )
    kernels = set(Kernel.objects.filter(pk__in=PLATFORM_KERNELS).values_list("pk", flat=True))
    missing = [name for name in PLATFORM_KERNELS if name not in kernels]
    if missing:
        yield (
            "W040",
            f"Kernels that the platform needs are missing ({', '.join(missing)}): creates from an image fail. "
            "`manage.py seed` adds them. If a catalogue file has kernels, first run "
            "`manage.py catalogue release kernels`.",
        )
    simulated = list(open_hosts.filter(driver="simulated").order_by("pk").values_list("label", flat=True)[:4])
    if settings.PRODUCTION and simulated:
        names = ", ".join(simulated[:3]) + (" …" if len(simulated) > 3 else "")
        yield "W037", f"Hosts are simulated ({names}): instances on them are not real machines."
