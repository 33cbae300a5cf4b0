"""Volumes: their accounts, the instances that have them, and their jobs and events."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import ROWS_SHOWN, account_panel, staff
from accounts.models import Account
from compute.admin.jobs import job_buttons, started
from compute.admin.timeline import story
from compute.models import Instance, Volume, VolumeDevice
from compute.models.volumes import volume_name
from compute.services.volumes import attaching, volumes
from config.admin.pages import HostFilter, Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment, page_of, tags
from config.admin.verbs import Verb
from config.display.statuses import status_pill


def detach(request: HttpRequest, volume: Volume) -> str:
    job = attaching.detach(staff(request, volume.account_id), volume)
    if job is None:
        return "nothing to do: the volume is not attached, or the deletion of its instance detaches it."
    return started(job)


def delete(request: HttpRequest, volume: Volume) -> str:
    volumes.delete(staff(request, volume.account_id), volume)
    return "deleted. Its data will be deleted in a moment."


def slots_panel(volume: Volume) -> Panel:
    """The profiles that name the volume."""
    devices = VolumeDevice.objects.filter(volume=volume).select_related("config").order_by("config", "slot")
    rows = ((device.config_id, device.config.label, device.slot) for device in devices)
    return Panel.of("Configuration profiles with this volume", ("Id", "Profile", "Slot"), rows)


@admin.register(Volume)
class VolumePage(ReadOnlyPage):
    """Read-only: only services and jobs change a volume."""

    task = Task.MACHINES
    list_display = (
        "id",
        "label",
        "state",
        "account",
        "region",
        "gigabytes",
        "hardware_type",
        "instance_link",
        "age",
    )
    list_display_links = ("id", "label")
    list_select_related = ("account", "region", "instance")
    list_filter = ("status", AccountFilter, "region", "hardware_type", ("instance__host", HostFilter))
    link_filters = ("account__id__exact", "instance__id__exact")
    search_fields = ("=pk", "=account_id", "=instance_id", "^label")
    search_help_text = "The id of a volume, an account or an instance, or how a label begins."
    ordering = ("-id",)
    sortable_by = ("id",)
    fields = (
        ("state", "id"), ("account", "tags_list"), ("region", "hardware_type"), ("gigabytes", "on_hypervisor"),
        "instance_link", ("created", "updated"),
    )  # fmt: skip
    verbs = (
        Verb(
            "detach", "Detach", detach, offered=lambda volume: volume.instance_id is not None,
            confirm="A running instance loses the volume at once, even if it is mounted.",
        ),
        Verb(
            "delete", "Delete", delete, danger=True, permission="delete",
            offered=lambda volume: volume.instance_id is None,
            confirm="Deletes the volume and its data. This cannot be undone.",
        ),
    )  # fmt: skip

    def panels(self, request: HttpRequest, obj: Volume) -> list[Panel]:
        buttons = job_buttons(self.admin_site, request, back=page_of(obj))
        return [story("volume", obj.pk, obj.account_id, obj.jobs.all(), buttons), slots_panel(obj)]

    @admin.display(description="Status")
    def state(self, volume: Volume) -> SafeString:
        return status_pill(volume.status)

    @admin.display(description="Size")
    def gigabytes(self, volume: Volume) -> str:
        return f"{volume.size} GB"

    @admin.display(description="Name on the host")
    def on_hypervisor(self, volume: Volume) -> str:
        return volume_name(volume.pk)

    @admin.display(description="Instance")
    def instance_link(self, volume: Volume) -> SafeString:
        return link(volume.instance)

    @admin.display(description="Tags")
    def tags_list(self, volume: Volume) -> SafeString:
        return tags(volume.tags)


def volumes_panel(instance: Instance) -> Panel:
    """The volumes attached to an instance, on its page."""
    rows = Volume.objects.filter(instance=instance).order_by("pk")
    return Panel.of(
        "Volumes",
        ("Label", "Id", "Size", "Hardware", "Status", "Created"),
        (
            (
                link(row),
                row.pk,
                f"{row.size} GB",
                row.get_hardware_type_display(),
                status_pill(row.status),
                moment(row.created),
            )
            for row in rows
        ),
    )


@account_panel
def account_volumes_panel(account: Account) -> Panel:
    """The account's newest volumes, on its page."""
    rows = Volume.objects.filter(account=account).select_related("instance").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Volumes",
        ("Label", "Id", "Status", "Region", "Size", "Instance", "Created"),
        (
            (
                link(row), row.pk, status_pill(row.status), row.region_id, f"{row.size} GB", link(row.instance),
                moment(row.created),
            )
            for row in rows
        ),
        more=list_of(Volume, account__id__exact=account.pk),
    )  # fmt: skip
