"""Notices of managed monitoring: services that are down, and checks that no worker makes. Two queries."""

from collections.abc import Iterator

from django.http import HttpRequest

from config.admin.attention import Notice, watcher
from config.admin.value_formats import list_of
from config.display.plurals import counted
from managed.admin.service_status import LATE_INTERVALS, Status, late
from managed.models import Service


@watcher
def problems(request: HttpRequest) -> Iterator[Notice]:
    if not request.user.has_perm("managed.view_service"):
        return
    number = Service.objects.filter(status=Status.PROBLEM).count()
    if number:
        yield Notice(f"Managed services that are down: {number}", list_of(Service, now="problem"))


@watcher
def unchecked(request: HttpRequest) -> Iterator[Notice]:
    if not request.user.has_perm("managed.view_service"):
        return
    number = Service.objects.filter(late()).count()
    if number:
        wait = counted(number, "managed service waits", "managed services wait")
        text = f"{wait} for a check for more than {LATE_INTERVALS} intervals. Check that a worker runs."
        yield Notice(text, list_of(Service, now="late"))
