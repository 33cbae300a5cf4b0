"""Instances: a search by anything a customer may name, and a page that shows the present state and history."""

import ipaddress
from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import ROWS_SHOWN, account_panel, staff
from accounts.models import Account, User
from compute.admin.backups import backups_panel
from compute.admin.consoles import consoles_panel
from compute.admin.jobs import job_buttons, started
from compute.admin.moves import migrations_panel
from compute.admin.networking.firewalls import firewalls_panel
from compute.admin.power import can
from compute.admin.timeline import timeline
from compute.admin.volumes import volumes_panel
from compute.models import Address, Config, Disk, Host, Instance, IPv6Range
from compute.services.hosts import moves
from compute.services.instances import instances, power
from compute.services.networking.vlans import vlans_of
from config.admin.forms import ReasonForm
from config.admin.pages import ClosedFilter, Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, list_of, moment, page_of, tags
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.display.quantities import size
from config.display.statuses import BAD, BUSY, GOOD, pill, status_pill

MOVE_PERMISSION = "compute.add_hostmigration"
"""The permission to move instances, which takes capacity on hosts."""
MOVED_BY_STAFF = "Staff moved the instance to another host."
"""The reason that owners read if staff moved an instance from a list."""


def boot(request: HttpRequest, instance: Instance) -> str:
    return started(power.boot(staff(request, instance.account_id), instance))


def reboot(request: HttpRequest, instance: Instance) -> str:
    return started(power.reboot(staff(request, instance.account_id), instance))


def shutdown(request: HttpRequest, instance: Instance) -> str:
    return started(power.shutdown(staff(request, instance.account_id), instance))


def migrate(request: HttpRequest, instance: Instance, given: dict[str, Any]) -> str:
    actor = staff(request, instance.account_id)
    job = moves.migrate_now(actor, instance, given["host"], given["reason"])
    return f"{started(job)} {given['reason']}"


def migrate_away(request: HttpRequest, instance: Instance) -> str:
    return started(moves.migrate_now(staff(request, instance.account_id), instance, None, MOVED_BY_STAFF))


class MigrateForm(ReasonForm):
    """The host to move to, and the reason."""

    host = forms.ModelChoiceField(
        Host.objects.none(),
        required=False,
        empty_label="the host with the most room",
        help_text="A host of the region that takes new instances. If you choose none, the host with the most room.",
    )
    field_order = ("host", "reason")

    def __init__(self, instance: Instance, data: QueryDict | None = None):
        super().__init__(instance, data)
        others = Host.objects.filter(region=instance.region_id, enabled=True, maintenance=None)
        field = cast(forms.ModelChoiceField, self.fields["host"])
        field.queryset = others.exclude(pk=instance.host_id).order_by("label")


def delete(request: HttpRequest, instance: Instance) -> str:
    return started(instances.delete(staff(request, instance.account_id), instance))


@admin.register(Instance)
class InstancePage(ReadOnlyPage):
    """Read-only: only jobs change an instance. Staff act through the services, as customers do."""

    task = Task.MACHINES
    labels: ClassVar[Mapping[str, str]] = {
        "alert_cpu": "Alert: CPU",
        "alert_io": "Alert: disk",
        "alert_network_in": "Alert: incoming traffic",
        "alert_network_out": "Alert: outgoing traffic",
        "alert_transfer_quota": "Alert: transfer",
        "watchdog_enabled": "Watchdog",
        "backups_enabled": "Backups",
        "backups_available": "Backup can be restored",
        "backups_day": "Day of backups",
        "backups_window": "Hours of backups",
        "backups_last_successful": "Last successful backup",
    }
    help_texts: ClassVar[Mapping[str, str]] = {
        "alert_cpu": "Percent, 100 for each core. 0: no alert.",
        "alert_io": "Blocks read and written per second. 0: no alert.",
        "alert_network_in": "Mbit/s. 0: no alert.",
        "alert_network_out": "Mbit/s. 0: no alert.",
        "alert_transfer_quota": "Percent of the plan's transfer. 0: no alert.",
        "watchdog_enabled": "If on, the platform boots the instance again when it stops without a request.",
    }
    list_display = ("id", "label", "state", "account", "ipv4_list", "region", "type", "host", "age")
    list_display_links = ("id", "label")
    list_select_related = ("account", "region", "type", "host")
    list_filter = ("status", AccountFilter, "region", ("type", ClosedFilter), ("host", ClosedFilter))
    search_fields = ("=pk", "^label")
    search_help_text = "Id, IPv4 address, username, or how a label, company or account's email begins."
    ordering = ("-id",)
    sortable_by = ("id",)
    fieldsets = (
        (None, {"fields": (
            ("state", "id"), ("account", "tags_list"), ("type_link", "image"), ("region", "host_link"),
            ("ipv4_list", "ipv6_text"), ("created", "updated"),
        )}),
        ("Settings", {"classes": ("collapse",), "fields": (
            ("alert_cpu", "alert_io"), ("alert_network_in", "alert_network_out"),
            ("alert_transfer_quota", "watchdog_enabled"), ("backups_enabled", "backups_available"),
            ("backups_day", "backups_window"), ("backups_last_successful", "group"),
        )}),
    )  # fmt: skip
    verbs = (
        Verb("boot", "Boot", boot, offered=can("boot"), ask_for_many="Boots the selected instances."),
        Verb("reboot", "Reboot", reboot, offered=can("reboot"), confirm="The instance is shut down and booted"
        " again. It does not answer for a moment."),
        Verb("shutdown", "Shut down", shutdown, offered=can("shutdown"), confirm="The instance is off until"
        " somebody boots it."),
        Verb(
            "migrate", "Migrate", migrate, form=MigrateForm, offered=can("migrate"), permission=MOVE_PERMISSION,
            confirm="The instance moves to another host of its region. If it runs, it is shut down, moved, and"
            " booted"
            " again.",
        ),
        Verb(
            "migrate-away", "Migrate away", migrate_away, for_lists=True, permission=MOVE_PERMISSION,
            confirm="Each instance moves to the host of its region with the most room. A running instance is shut"
            " down, moved, and booted again.",
        ),
        Verb(
            "delete", "Delete", delete, danger=True, permission="delete", offered=can("delete"),
            confirm="Deletes the instance and its disks, and releases its addresses. This cannot be undone.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instance]:
        return super().get_queryset(request).select_related("account", "region", "type", "host", "image")

    def matches(self, term: str) -> Q:
        address = ipv4(term)
        if address:
            return Q(pk__in=Address.objects.filter(address=address).values("instance_id"))
        if is_id(term):
            return super().matches(term)
        owner = Account.objects.filter(Q(company__istartswith=term) | Q(email__istartswith=term))
        user = User.objects.filter(username=term, account__isnull=False)
        return super().matches(term) | Q(account__in=owner) | Q(account__in=user.values("account"))

    def panels(self, request: HttpRequest, obj: Instance) -> list[Panel]:
        buttons = job_buttons(self.admin_site, request, back=page_of(obj))
        shown = (
            disks_panel, volumes_panel, configs_panel, addresses_panel, firewalls_panel, backups_panel,
            migrations_panel, consoles_panel,
        )  # fmt: skip
        return [timeline(obj, buttons), *(panel(obj) for panel in shown)]

    @admin.display(description="Status")
    def state(self, instance: Instance) -> SafeString:
        return status_pill(instance.status)

    @admin.display(description="Type")
    def type_link(self, instance: Instance) -> SafeString:
        return link(instance.type, f"{instance.type.label} ({instance.type_id})")

    @admin.display(description="Host")
    def host_link(self, instance: Instance) -> SafeString:
        """The host. If it does not answer, since when, because jobs of the instance wait for it."""
        host = instance.host
        if host.unreachable_since is None:
            return link(host)
        return format_html(
            "{} {} since {}", link(host), pill("does not answer", BAD), moment(host.unreachable_since)
        )

    @admin.display(description="IPv4")
    def ipv4_list(self, instance: Instance) -> SafeString:
        return addresses(instance.ipv4)

    @admin.display(description="IPv6")
    def ipv6_text(self, instance: Instance) -> SafeString:
        return addresses([instance.ipv6] if instance.ipv6 else [])

    @admin.display(description="Tags")
    def tags_list(self, instance: Instance) -> SafeString:
        return tags(instance.tags)


def ipv4(term: str) -> str | None:
    try:
        return str(ipaddress.IPv4Address(term))
    except ValueError:
        return None


def addresses(found: list[str]) -> SafeString:
    return format_html_join(" ", '<span class="address">{}</span>', ((each,) for each in found)) or NOTHING


def disks_panel(instance: Instance) -> Panel:
    disks = Disk.objects.filter(instance=instance).select_related("image").order_by("pk")
    return Panel.of(
        "Disks",
        ("Id", "Label", "Size", "Filesystem", "Status", "Image", "Created"),
        (
            (
                disk.pk,
                disk.label,
                size(disk.size),
                disk.filesystem,
                status_pill(disk.status),
                link(disk.image),
                moment(disk.created),
            )
            for disk in disks
        ),
    )


def configs_panel(instance: Instance) -> Panel:
    parts = ("devices__disk", "volume_devices__volume")
    configs = Config.objects.filter(instance=instance).prefetch_related(*parts).order_by("pk")
    return Panel.of(
        "Configuration profiles",
        ("Id", "Label", "Kernel", "Boots from", "Devices", "VLANs"),
        (
            (
                config.pk,
                config_label(config, instance),
                config.kernel_id,
                f"{config.root_device}, run level {config.run_level}",
                devices_text(config),
                ", ".join(sorted(vlans_of([config]))),
            )
            for config in configs
        ),
    )


def config_label(config: Config, instance: Instance) -> SafeString | str:
    """The profile's label, and whether it was booted last, or is the profile of a rescue."""
    if config.pk == instance.booted_config_id:
        return format_html("{} {}", config.label, pill("booted", GOOD))
    return format_html("{} {}", config.label, pill("rescue", BUSY)) if config.rescue else config.label


def devices_text(config: Config) -> str:
    """The disks and volumes in the profile's slots."""
    disks = [(device.slot, device.disk.label) for device in config.devices.all()]
    volumes = [(device.slot, f"volume {device.volume.label}") for device in config.volume_devices.all()]
    return ", ".join(f"{slot}: {label}" for slot, label in sorted(disks + volumes))


def addresses_panel(instance: Instance) -> Panel:
    rows = Address.objects.filter(instance=instance).select_related("pool").order_by("pk")
    found: list[tuple[Any, ...]] = []
    for row in rows:
        address = addresses([f"{row.address}/{row.prefix}"])
        found.append((address, "public" if row.public else "private", row.rdns, link(row.pool)))
    if instance.ipv6:
        found.append((addresses([instance.ipv6]), "SLAAC", None, NOTHING))
    for block in IPv6Range.objects.filter(instance=instance).select_related("pool").order_by("pk"):
        found.append((link(block), block.get_kind_display(), None, link(block.pool)))
    for shared in Address.objects.filter(shares__instance=instance).select_related("pool").order_by("pk"):
        address = addresses([f"{shared.address}/{shared.prefix}"])
        found.append((address, "shared by another instance", shared.rdns, link(shared.pool)))
    for range_ in IPv6Range.objects.filter(shares__instance=instance).select_related("pool").order_by("pk"):
        found.append((link(range_), "shared by another instance", None, link(range_.pool)))
    return Panel.of("Addresses", ("Address", "Kind", "Reverse name", "Pool"), found)


@account_panel
def instances_panel(account: Account) -> Panel:
    """The account's newest instances, on its page."""
    rows = Instance.objects.filter(account=account).select_related("type").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Instances",
        ("Label", "Id", "Status", "Region", "Type", "IPv4", "Created"),
        (
            (
                link(row), row.pk, status_pill(row.status), row.region_id, row.type.label, addresses(row.ipv4),
                moment(row.created),
            )
            for row in rows
        ),
        more=list_of(Instance, account__id__exact=account.pk),
    )  # fmt: skip
