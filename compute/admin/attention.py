"""Notices of problems in this app: stuck jobs, failed events, scarce pools, full hosts, late packet filters.

Each notice takes one or two queries. `compute.admin.outages` has the notices of silent hosts and processes.
"""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count, F, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.timezone import now

from accounts.models import Event
from compute.admin.hosts import FULL_HOST_SHARE
from compute.admin.job_status import live, overdue, retrying, stuck
from compute.admin.networking.firewalls import LATE_AFTER, behind
from compute.admin.networking.pools import scarce
from compute.admin.usual_times import slow, usual_times
from compute.models import Address, Host, Job, PacketFilter
from compute.services.hosts.placement import RESOURCES
from config.admin.attention import Notice, watcher
from config.admin.value_formats import list_of
from config.display.plurals import counted

MAX_EVENTS = 20_000
"""The number of newest events that are searched for failures."""


@watcher
def jobs(request: HttpRequest) -> Iterator[Notice]:
    if not request.user.has_perm("compute.view_job"):
        return
    found = Job.objects.filter(live()).aggregate(
        stuck=Count("pk", filter=stuck()),
        overdue=Count("pk", filter=overdue()),
        retrying=Count("pk", filter=retrying()),
        slow=Count("pk", filter=slow(usual_times()) & ~stuck()),
    )
    if found["stuck"]:
        text = f"Stuck jobs: {found['stuck']} ({found['overdue']} overdue, {found['retrying']} retrying)"
        yield Notice(text, reverse("admin:failing"))
    if found["slow"]:
        yield Notice(f"Jobs that take much longer than usual: {found['slow']}", list_of(Job, now="slow"))


@watcher
def events(request: HttpRequest) -> Iterator[Notice]:
    if not request.user.has_perm("accounts.view_event"):
        return
    newest = Event.objects.order_by("-pk").values("pk")[:MAX_EVENTS]  # by the key's index: times have none
    failed = Event.objects.failures().filter(pk__in=newest, created__gt=now() - timedelta(hours=1)).count()
    if failed:
        text = f"Failed in the last hour: {counted(failed, 'event')}"
        yield Notice(text, list_of(Event, outcome="failed", since="hour"))


@watcher
def address_pools(request: HttpRequest) -> Iterator[Notice]:
    """Address pools with less than a tenth of their addresses free, one line each."""
    if not request.user.has_perm("compute.view_addresspool"):
        return
    for pool, total, used in scarce():
        text = f"{pool}: {total - used:,} of {counted(total, 'address', 'addresses')} free"
        yield Notice(text, list_of(Address, pool__id__exact=pool.pk))


@watcher
def packet_filters(request: HttpRequest) -> Iterator[Notice]:
    """The number of instances whose host has had an older packet filter for longer than a delivery takes."""
    if not request.user.has_perm("compute.view_packetfilter"):
        return
    number = PacketFilter.objects.filter(behind(), changed__lt=now() - LATE_AFTER).count()
    if number:
        text = f"Instances whose firewall rules are late on the host: {number}"
        yield Notice(text, list_of(PacketFilter, host="behind"))


@watcher
def hosts(request: HttpRequest) -> Iterator[Notice]:
    """The number of full hosts among the hosts that take new instances."""
    if not request.user.has_perm("compute.view_host"):
        return
    full = Q()
    for resource in RESOURCES:
        full |= Q(**{f"{resource}_used__gte": F(resource) * FULL_HOST_SHARE})
    number = Host.objects.filter(full, enabled=True, maintenance=None).count()
    if number:
        yield Notice(f"Full hosts: {number}", list_of(Host, enabled__exact=1))
