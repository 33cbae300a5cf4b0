"""Firewalls, and whether hosts have their rules: for customers who are locked out, or whose rules do nothing."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, TypedDict

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter, InstancesAccountFilter
from accounts.admin.panels import staff
from compute.models import Firewall, FirewallDevice, Instance, PacketFilter
from compute.services.networking.firewalls import delivery, firewalls
from compute.services.networking.firewalls.firewalls import FirewallChanges
from compute.services.networking.firewalls.summary import summary
from config.admin.pages import HostFilter, Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, list_of, moment, pretty, tags
from config.admin.verbs import Verb
from config.display.statuses import BAD, BUSY, GOOD, pill, status_pill

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

LATE_AFTER = timedelta(seconds=30)
"""The longest delay with which a host that answers applies a packet filter."""
DEVICES_SHOWN = 100


def behind() -> Q:
    """Packet filters of which the host has an older version. Reads only the small index of these rows."""
    return Q(applied__lt=F("wanted"))


def enable(request: HttpRequest, firewall: Firewall) -> str:
    firewalls.update(staff(request, firewall.account_id), firewall, FirewallChanges(status="enabled"))
    return "the hosts of its instances get the rules in a moment."


def disable(request: HttpRequest, firewall: Firewall) -> str:
    firewalls.update(staff(request, firewall.account_id), firewall, FirewallChanges(status="disabled"))
    return "the hosts of its instances remove the rules in a moment."


def deliver_again(request: HttpRequest, row: PacketFilter) -> str:
    firewalls.deliver_again(row.instance_id)
    return "the host gets the rules in a moment."


def host_pill(row: PacketFilter | None) -> SafeString:
    """Whether the host of an instance has its newest packet filter."""
    if row is None:
        return NOTHING
    if not row.pending:
        return pill("up to date", GOOD)
    return pill("fails", BAD) if row.error else pill("being updated", BUSY)


def firewalls_panel(instance: Instance) -> Panel:
    """The firewalls that are on an instance, on its page."""
    devices = FirewallDevice.objects.filter(instance=instance).select_related("firewall").order_by("pk")
    row = PacketFilter.objects.filter(pk=instance.pk).first()
    state = host_pill(row) if row is None else link(row, "up to date" if not row.pending else "not up to date yet")
    return Panel.of(
        "Firewalls",
        ("Label", "Id", "Status", "Rules on the host"),
        (
            (
                link(each.firewall),
                each.firewall_id,
                status_pill(each.firewall.status),
                state if each.enabled else NOTHING,
            )
            for each in devices
        ),
        more=list_of(PacketFilter, instance__id__exact=instance.pk) if row else "",
    )


class Counted(TypedDict):
    devices_number: int


@admin.register(Firewall)
class FirewallPage(ReadOnlyPage):
    """Owners write the rules; staff may disable a firewall that locks its owner out, and enable it again."""

    task = Task.NETWORK
    list_display = ("id", "label", "state", "account", "rules_count", "devices_count", "updated", "age")
    list_display_links = ("id", "label")
    list_select_related = ("account",)
    list_filter = ("status", AccountFilter)
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "=account_id", "^label")
    search_help_text = "The id of a firewall or an account, or how a label begins."
    ordering = ("-id",)
    sortable_by = ("id",)
    fields = (("state", "id"), ("account", "tags_list"), "rules_text", ("created", "updated"))
    verbs = (
        Verb("enable", "Enable", enable, offered=lambda firewall: firewall.status == Firewall.Status.DISABLED),
        Verb(
            "disable", "Disable", disable, danger=True,
            offered=lambda firewall: firewall.status == Firewall.Status.ENABLED,
            confirm="The firewall has no effect any more: all packets can reach its instances, and leave them."
            " Closed mail"
            " ports stay closed.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Firewall]:
        return super().get_queryset(request).annotate(devices_number=Count("devices"))

    def panels(self, request: HttpRequest, obj: Firewall) -> list[Panel]:
        """The instances that the firewall is on, and whether their hosts have its rules."""
        devices = obj.devices.select_related("instance", "instance__packet_filter").order_by("pk")[:DEVICES_SHOWN]
        rows = (
            (
                link(each.instance),
                each.instance_id,
                host_pill(getattr(each.instance, "packet_filter", None)) if each.enabled else NOTHING,
                moment(each.created),
            )
            for each in devices
        )
        return [Panel.of("Instances with this firewall", ("Label", "Id", "Rules on the host", "Since"), rows)]

    @admin.display(description="Status")
    def state(self, firewall: Firewall) -> SafeString:
        return status_pill(firewall.status)

    @admin.display(description="Rules")
    def rules_count(self, firewall: Firewall) -> int:
        return sum(len(firewall.rules.get(direction) or ()) for direction in ("inbound", "outbound"))

    @admin.display(description="Instances")
    def devices_count(self, firewall: "WithAnnotations[Firewall, Counted]") -> int:
        return firewall.devices_number

    @admin.display(description="Rules")
    def rules_text(self, firewall: Firewall) -> SafeString:
        return pretty(firewall.rules)

    @admin.display(description="Tags")
    def tags_list(self, firewall: Firewall) -> SafeString:
        return tags(firewall.tags)


class VersionFilter(admin.SimpleListFilter):
    """Packet filters by whether the host has the newest version."""

    title = "host"
    parameter_name = "host"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("behind", "Not up to date"), ("failing", "… and fails"), ("sent", "Up to date")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[PacketFilter]) -> QuerySet[PacketFilter]:
        chosen = {"behind": behind(), "failing": behind() & ~Q(error=""), "sent": ~behind()}
        return queryset.filter(chosen.get(self.value() or "", Q()))


@admin.register(PacketFilter)
class PacketFilterPage(ReadOnlyPage):
    """The packet filter of each instance, as text, and whether the host has the newest version."""

    task = Task.NETWORK
    labels: ClassVar[Mapping[str, str]] = {
        "wanted": "Newest version",
        "applied": "Version on the host",
        "attempt": "Attempts",
    }
    list_display = ("instance_id", "instance_link", "state", "changed", "confirmed", "error")
    list_display_links = ("instance_id",)
    list_select_related = ("instance",)
    list_filter = (VersionFilter, InstancesAccountFilter, ("instance__host", HostFilter))
    link_filters = ("instance__id__exact",)
    search_fields = ("=instance_id",)
    search_help_text = "An instance's id."
    ordering = ("-instance_id",)
    sortable_by = ()
    fields = (
        ("state", "instance_link"), ("wanted", "applied"), ("changed_at", "confirmed_at"), ("attempt", "error"),
        "rules",
    )  # fmt: skip
    verbs = (Verb("tell", "Send to the host again", deliver_again),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PacketFilter]:
        return super().get_queryset(request).select_related("instance")

    @admin.display(description="Rules on the host")
    def state(self, row: PacketFilter) -> SafeString:
        return host_pill(row)

    @admin.display(description="Instance")
    def instance_link(self, row: PacketFilter) -> SafeString:
        return link(row.instance)

    @admin.display(description="Changed")
    def changed_at(self, row: PacketFilter) -> SafeString:
        return moment(row.changed)

    @admin.display(description="Last confirmed")
    def confirmed_at(self, row: PacketFilter) -> SafeString:
        return moment(row.confirmed)

    @admin.display(description="Rules")
    def rules(self, row: PacketFilter) -> SafeString:
        found = delivery.read(row.instance_id)
        return format_html("<pre>{}</pre>", summary(found) if found else "")
