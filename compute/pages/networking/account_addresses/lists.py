"""The lists of addresses and of IPv6 ranges."""

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.urls import reverse

from accounts.pages.objects import ObjectListPage, Tab
from compute.filters.networking.addresses import AddressListFilterSet, IPv6RangeListFilterSet
from compute.models import Address, Instance, IPv6Range
from compute.pages.networking.networking import LAST_PUBLIC_ADDRESS, moving_reason
from compute.serializers.networking.addresses import reverse_name, route_target
from config.pages.lists import Column, Verb

TABS = (("addresses", "Addresses"), ("ranges", "IPv6 ranges"))


class NetworkListPage(ObjectListPage):
    """A list of addresses or ranges, each of which belongs to an instance. The instance decides about grants."""

    noun = "addresses"
    page: str

    def writable(self, shown: list[Any]) -> Collection[int]:
        instances = {row.instance_id for row in shown if row.instance_id is not None}
        changed = Instance.objects.writable_keys(self.actor, instances)
        return {row.pk for row in shown if row.instance_id in changed or not self.actor.restricted}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tabs = [Tab(label, reverse(page), page == self.page) for page, label in TABS]
        may_create = Instance.objects.writable_by(self.actor).exists()
        return {**super().get_context_data(**kwargs), "tabs": tabs, "may_create": may_create}


class AddressesView(NetworkListPage):
    """``/home/addresses``: the addresses of the instances that the user may see."""

    model = Address
    page = "addresses"
    new = "address-new"
    template_name = "compute/account_addresses.html"
    filterset_class = AddressListFilterSet
    columns = (
        Column("Address", "address"),
        Column("Kind"),
        Column("Region", "region"),
        Column("Instance"),
        Column("Reverse name"),
        Column("Actions"),
    )

    def get_queryset(self) -> QuerySet[Address]:
        public = Address._base_manager.filter(instance=OuterRef("instance"), public=True).order_by()
        number = Subquery(public.values("instance").annotate(number=Count("pk")).values("number"))
        return super().get_queryset().select_related("instance").annotate(number_of_public=number)

    def verbs_of(self, found: Address) -> tuple[Verb, ...]:
        return tuple(self._verbs_of(found)) if ":" not in found.address else ()

    def _verbs_of(self, found: Any) -> Iterator[Verb]:
        moving = moving_reason(found.instance.status)

        def verb(label: str, page: str, reason: str = "") -> Verb:
            return Verb(label, reverse(f"address-{page}", args=[found.address]), moving or reason)

        if found.public:
            yield verb("Edit reverse name", "rdns")
        yield verb("Move or swap", "move")
        last = found.public and found.number_of_public == 1
        yield verb("Delete", "delete", LAST_PUBLIC_ADDRESS if last else "")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = [row.object for row in context["rows"]]
        return {**context, "names": {row.pk: reverse_name(row.address, row.public, row.rdns) for row in shown}}


class RangesView(NetworkListPage):
    """``/home/addresses/ranges``: IPv6 ranges, and the pools that staff assigned."""

    model = IPv6Range
    page = "ranges"
    new = "range-new"
    template_name = "compute/account_ranges.html"
    filterset_class = IPv6RangeListFilterSet
    columns = (
        Column("Range", "range"),
        Column("Kind", "kind"),
        Column("Region", "region"),
        Column("Instance"),
        Column("Routed to"),
        Column("Actions"),
    )

    def get_queryset(self) -> QuerySet[IPv6Range]:
        return IPv6Range.objects.shown_to(self.actor).for_api().select_related("instance")

    def verbs_of(self, found: IPv6Range) -> tuple[Verb, ...]:
        if found.kind != IPv6Range.Kind.RANGE:
            return ()
        moving = moving_reason(found.instance.status) if found.instance else ""
        verbs = (("Move to another instance", "range-move"), ("Delete", "range-delete"))
        return tuple(Verb(label, reverse(page, args=[found.pk]), moving) for label, page in verbs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = [row.object for row in context["rows"]]
        seen = Instance.objects.visible_to(self.actor).filter(pk__in={row.instance_id for row in shown})
        targets = {
            row.pk: route_target(row.route_target, row.instance.ipv6 if row.instance else None, row.is_shared)
            for row in shown
        }
        return {**context, "heading": "IPv6 ranges", "no_match": "No ranges match", "targets": targets,
                "seen": set(seen.values_list("pk", flat=True))}  # fmt: skip
