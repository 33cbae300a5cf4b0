"""IPv6 ranges and pools, and addresses that instances share."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import staff
from compute.models import AddressShare, IPv6Range, RangeShare
from compute.services.networking import ranges
from config.admin.pages import HostFilter, Page, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.errors import Invalid


def delete(request: HttpRequest, block: IPv6Range) -> str:
    ranges.delete(staff(request, block.account_id), block)
    return "deleted. Its addresses are not routed any more."


class PoolForm(forms.ModelForm):
    """The fields of a new /116 pool. The service finds its first address and reports problems beside the fields."""

    class Meta:
        model = IPv6Range
        fields = ("account", "region", "instance", "route_target")
        labels: ClassVar[dict[str, str]] = {"route_target": "Route to"}
        help_texts: ClassVar[dict[str, str]] = {
            "account": "The id of the account that gets the addresses. The magnifying glass opens a list.",
            "region": "The region of the addresses.",
            "instance": (
                "The id of an instance of this account and region. The addresses are routed to it. Leave it empty"
                " if"
                " you fill in the next field."
            ),
            "route_target": (
                "The IPv6 address that the addresses are routed to, such as 2001:db8::1. Leave it empty if you"
                " chose"
                " an instance."
            ),
            "range": "The first address.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                ranges.prepare_pool(IPv6Range(**{name: cleaned.get(name) for name in self._meta.fields or ()}))
            except Invalid as error:
                for problem in error.problems:
                    self.add_error(problem.field, problem.reason)
        return cleaned


@admin.register(IPv6Range)
class IPv6RangePage(Page):
    """IPv6 ranges, which clients take themselves, and pools, which staff assign here. Neither is ever changed."""

    task = Task.NETWORK
    form = PoolForm
    list_display = ("__str__", "kind", "account", "instance_link", "route_target", "region", "age")
    list_select_related = ("account", "instance", "region")
    list_filter = ("kind", AccountFilter, "region", ("instance__host", HostFilter))
    link_filters = ("account__id__exact", "pool__id__exact")
    search_fields = ("=instance_id", "=account_id")
    search_help_text = "The first address, or an instance's or account's id."
    ordering = ("-id",)
    sortable_by = ()
    raw_id_fields = ("account", "instance")
    verbs = (
        Verb(
            "delete", "Delete", delete, danger=True, permission="delete",
            confirm="The addresses are not routed any more, and another customer may get them.",
        ),
    )  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: IPv6Range | None = None) -> tuple[str, ...]:
        plain = ("account", "region", "instance", "route_target")
        return plain if obj is None else ("range", "prefix", "kind", *plain, "pool", "created")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        return () if obj is None else self.get_fields(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: IPv6Range | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: IPv6Range | None = None) -> bool:
        """Ranges are deleted by a verb, which records the event."""
        return False

    def save_model(self, request: HttpRequest, obj: IPv6Range, form: ModelForm, change: bool) -> None:
        ranges.give_pool(obj, staff(request, obj.account_id))

    def matches(self, term: str) -> Q:
        return super().matches(term) if is_id(term) else found(term, "range")

    @admin.display(description="Instance")
    def instance_link(self, block: IPv6Range) -> SafeString:
        return link(block.instance) if block.instance else NOTHING


@admin.register(AddressShare)
class AddressSharePage(ReadOnlyPage):
    """Shares of addresses: the instances that may take over an address of another instance."""

    task = Task.NETWORK
    list_display = ("address", "holder", "instance")
    list_select_related = ("address__instance", "instance")
    link_filters = ("instance__id__exact",)
    search_fields = ("=instance_id",)
    search_help_text = "The address, or the id of an instance that shares it."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("address", "holder", "instance")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AddressShare]:
        return super().get_queryset(request).select_related("address__instance", "instance")

    def matches(self, term: str) -> Q:
        return super().matches(term) if is_id(term) else found(term, "address__address")

    @admin.display(description="Address of")
    def holder(self, share: AddressShare) -> SafeString:
        return link(share.address.instance)


@admin.register(RangeShare)
class RangeSharePage(ReadOnlyPage):
    """Shares of IPv6 ranges: the instances that share a range."""

    task = Task.NETWORK
    list_display = ("range", "holder", "instance")
    list_select_related = ("range__instance", "instance")
    link_filters = ("instance__id__exact",)
    search_fields = ("=instance_id",)
    search_help_text = "The first address of the range, or the id of an instance that shares it."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("range", "holder", "instance")

    def get_queryset(self, request: HttpRequest) -> QuerySet[RangeShare]:
        return super().get_queryset(request).select_related("range__instance", "instance")

    def matches(self, term: str) -> Q:
        return super().matches(term) if is_id(term) else found(term, "range__range")

    @admin.display(description="Routed to")
    def holder(self, share: RangeShare) -> SafeString:
        return link(share.range.instance) if share.range.instance else NOTHING


def found(term: str, column: str) -> Q:
    """Return the condition that finds an address in any spelling; it finds nothing if `term` is no address."""
    try:
        return Q(**{column: forms.GenericIPAddressField().clean(term)})
    except forms.ValidationError:
        return Q(pk__in=[])
