"""Address pools: adding networks that instances get their addresses from, and how full they are."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.filters import InstancesAccountFilter
from compute.models import Address, AddressPool, IPv6Range
from compute.services.networking import pools
from config.admin.pages import HostFilter, Page, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING, link, list_of
from config.admin.verbs import Verb
from config.display.integers import is_id
from config.display.plurals import counted
from config.display.statuses import BAD, GOOD, QUIET, pill
from config.errors import Invalid

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

SCARCE_SHARE = 0.1
"""The share of free addresses below which a pool needs attention."""


TAKEN = Q(instance__isnull=False) | Q(nodebalancer__isnull=False)
"""The condition for an address that an instance or a load balancer has."""


def with_counts(rows: QuerySet[AddressPool]) -> "QuerySet[WithAnnotations[AddressPool, Counted]]":
    """Add the number of addresses of each pool, of used addresses, and of ranges: one query for all.

    Each number is a subquery on the index of its pool. A join would repeat all columns of a pool for each of its
    addresses, and sort them.
    """
    theirs = Address.objects.filter(pool=OuterRef("pk")).order_by().values("pool").annotate(number=Count("pk"))
    cut = IPv6Range.objects.filter(pool=OuterRef("pk")).order_by().values("pool").annotate(number=Count("pk"))
    return rows.annotate(
        total=Coalesce(Subquery(theirs.values("number")), 0),
        used=Coalesce(Subquery(theirs.filter(TAKEN).values("number")), 0),
        cut=Coalesce(Subquery(cut.values("number")), 0),
    )


def scarce() -> list[tuple[AddressPool, int, int]]:
    """Return the scarce pools, each with the numbers of its addresses and of used ones.

    Two queries, one of which reads each address once.
    """
    numbers = Address.objects.order_by().values("pool").annotate(total=Count("pk"), used=Count("pk", filter=TAKEN))
    found = {
        each["pool"]: (each["total"], each["used"]) for each in numbers if is_scarce(each["total"], each["used"])
    }
    pools = AddressPool.objects.filter(pk__in=found).order_by("pk") if found else ()
    return [(pool, *found[pool.pk]) for pool in pools]


def remove(request: HttpRequest, pool: AddressPool) -> str:
    pools.remove_pool(pool)
    return "deleted, with its addresses."


class PoolForm(forms.ModelForm):
    """A form that lets the service check the pool, and shows the problems beside the fields."""

    class Meta:
        model = AddressPool
        fields = ("region", "kind", "network", "gateway")
        help_texts: ClassVar[dict[str, str]] = {
            "region": "Instances of this region get addresses from the pool.",
            "kind": (
                "public: IPv4 addresses of the internet. private: IPv4 addresses between the instances of a region."
                " slaac: one IPv6 address for each instance. routed: IPv6 ranges that customers request."
            ),
            "network": "The network and its prefix length, such as 198.51.100.0/24, or 2001:db8:1::/64 for slaac.",
            "gateway": "The address of the router for the network, such as 198.51.100.1 or fe80::1.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            pool = AddressPool(**cleaned)
            try:
                pools.check_pool(pool)
            except Invalid as error:
                for problem in error.problems:
                    self.add_error(problem.field, problem.reason)
            else:
                cleaned.update(network=pool.network, gateway=pool.gateway)
        return cleaned


class Counted(TypedDict):
    total: int
    used: int
    cut: int


@admin.register(AddressPool)
class AddressPoolPage(Page):
    """Pools are added and deleted, never changed, because their addresses are in use."""

    task = Task.NETWORK
    form = PoolForm
    list_display = ("network", "region", "kind", "filled", "used_count", "free_count", "gateway")
    list_select_related = ("region",)
    list_filter = ("kind", "region")
    search_fields = ("^network",)
    ordering = ("region", "kind", "id")
    sortable_by = ()
    verbs = (
        Verb(
            "delete", "Delete", remove, danger=True, permission="delete",
            offered=lambda pool: not (pool.used or pool.cut),
            confirm="Deletes the pool and its addresses. The pool is kept if one of its addresses is in use.",
        ),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[AddressPool]:
        return with_counts(super().get_queryset(request)).select_related("region")

    def get_fields(self, request: HttpRequest, obj: AddressPool | None = None) -> tuple[str, ...]:
        plain = ("region", "kind", "network", "gateway")
        return plain if obj is None else (*plain, "used_count", "free_count", "created")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        return () if obj is None else self.get_fields(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: AddressPool | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AddressPool | None = None) -> bool:
        """Pools are deleted by a verb. Django's own page would list every single address."""
        return False

    def save_model(self, request: HttpRequest, obj: AddressPool, form: ModelForm, change: bool) -> None:
        number = pools.add_pool(obj)
        if obj.kind not in pools.IPV6:
            messages.info(request, f"{obj} has {counted(number, 'free address', 'free addresses')}.")

    @admin.display(description="Used")
    def used_count(self, pool: "WithAnnotations[AddressPool, Counted]") -> SafeString:
        if pool.kind == AddressPool.Kind.SLAAC:
            return NOTHING
        if pool.kind == AddressPool.Kind.ROUTED:
            number = pool.cut
            address = list_of(IPv6Range, pool__id__exact=pool.pk)
            return format_html('<a href="{}">{}</a>', address, counted(number, "range"))
        return format_html('<a href="{}">{}</a>', _addresses(pool, used="yes"), pool.used)

    @admin.display(description="Free")
    def free_count(self, pool: "WithAnnotations[AddressPool, Counted]") -> SafeString:
        if pool.kind in pools.IPV6:
            return NOTHING
        free = pool.total - pool.used
        return format_html('<a href="{}">{}</a>', _addresses(pool, used="no"), free)

    @admin.display(description="Filled")
    def filled(self, pool: "WithAnnotations[AddressPool, Counted]") -> SafeString:
        if pool.kind == AddressPool.Kind.SLAAC:
            return pill("unlimited", QUIET)
        if pool.kind == AddressPool.Kind.ROUTED:
            return NOTHING
        total, used = pool.total, pool.used
        if not total:
            return pill("empty", BAD)
        return pill(f"{used / total:.0%}", BAD if is_scarce(total, used) else GOOD)


def is_scarce(total: int, used: int) -> bool:
    return total - used < total * SCARCE_SHARE


def _addresses(pool: AddressPool, **filters: str) -> str:
    return list_of(Address, pool__id__exact=pool.pk, **filters)


class UseFilter(admin.SimpleListFilter):
    """Addresses that an instance or load balancer has, or free ones."""

    title = "use"
    parameter_name = "used"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("yes", "Used"), ("no", "Free")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Address]) -> QuerySet[Address]:
        free = Q(instance__isnull=True, nodebalancer__isnull=True)
        return queryset.filter(free if self.value() == "no" else ~free) if self.value() else queryset


@admin.register(Address)
class AddressPage(ReadOnlyPage):
    """Single addresses and their holders. Adding a pool creates them. Instances and load balancers take and release
    them."""

    task = Task.NETWORK
    labels: ClassVar[Mapping[str, str]] = {"rdns": "Reverse name"}
    help_texts: ClassVar[Mapping[str, str]] = {"rdns": "If empty, the platform's default name."}
    list_display = ("address", "holder", "public", "pool", "released")
    list_select_related = ("instance", "nodebalancer", "pool")
    list_filter = (UseFilter, InstancesAccountFilter, "public", "region", ("instance__host", HostFilter))
    search_fields = ("address", "=instance_id")
    search_help_text = "An address, or an instance's id."
    ordering = ("id",)
    sortable_by = ()
    fields = ("address", "prefix", "gateway", "public", "region", "pool", "holder", "rdns", "released")

    def matches(self, term: str) -> Q:
        if is_id(term):
            return Q(instance_id=int(term))
        try:
            return Q(address=forms.GenericIPAddressField().clean(term))
        except forms.ValidationError:
            return Q(pk__in=[])

    @admin.display(description="Used by")
    def holder(self, address: Address) -> SafeString:
        held_by = address.instance or address.nodebalancer
        return link(held_by) if held_by else pill("free", QUIET)
