"""The list of load balancers."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils.timezone import now

from accounts.pages.objects import ObjectListPage
from compute.filters.nodebalancers.nodebalancers import NodeBalancerListFilterSet
from compute.models import NodeBalancer, NodeBalancerConfig, NodeBalancerNode, NodeBalancerTransfer
from compute.pages.nodebalancers.balancers import health_of
from compute.pages.nodebalancers.base import ADD, HOME
from compute.services.common.months import month_of
from config.pages.lists import Column, Verb


@dataclass(slots=True)
class Summary:
    """The ports of a load balancer, the numbers of its nodes by status, and its transfer of this month in bytes.

    The transfer is None if it was not measured.
    """

    ports: list[int] = field(default_factory=list)
    health: list[tuple[str, int]] = field(default_factory=list)
    transfer: int | None = None


class BalancersView(ObjectListPage):
    """``/home/load-balancers``: the load balancers that the user may see."""

    template_name = "compute/nodebalancers/balancers.html"
    filterset_class = NodeBalancerListFilterSet
    model = NodeBalancer
    noun = "load-balancers"
    new = "load-balancer-new"
    add = ADD
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Region", "region", F("region_id")),
        Column("Addresses"),
        Column("Ports"),
        Column("Nodes"),
        Column("Transfer"),
        Column("Tags"),
        Column("Created", "created"),
        Column(""),
    )

    def verbs_of(self, found: NodeBalancer) -> tuple[Verb, ...]:
        return (
            Verb("Add config", reverse("load-balancer-config-new", args=[found.pk])),
            Verb("Settings", reverse("load-balancer-settings", args=[found.pk])),
            Verb("Delete", reverse("load-balancer-delete", args=[found.pk])),
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return {**context, "home": HOME, "summaries": summaries_of([row.object.pk for row in context["rows"]])}


def summaries_of(keys: Collection[int]) -> dict[int, Summary]:
    """The summaries of load balancers, by their ids. Three queries."""
    found = {key: Summary() for key in keys}
    configs = NodeBalancerConfig.objects.filter(nodebalancer__in=keys).order_by("port")
    for key, port in configs.values_list("nodebalancer_id", "port"):
        found[key].ports.append(port)
    nodes = NodeBalancerNode.objects.filter(config__nodebalancer__in=keys).order_by()
    counts: dict[int, dict[str, int]] = {}
    for key, status, number in nodes.values_list("config__nodebalancer_id", "status").annotate(Count("pk")):
        counts.setdefault(key, {})[status] = number
    for key, by_status in counts.items():
        found[key].health = health_of(by_status)
    for transfer in NodeBalancerTransfer.objects.filter(nodebalancer__in=keys, month=month_of(now())):
        found[transfer.nodebalancer_id].transfer = transfer.received + transfer.sent
    return found
