"""Base classes of the pages of one load balancer, of its configs and of their nodes."""

from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from accounts.actors import Actor
from accounts.pages.objects import ObjectPage
from compute.models import Address, Instance, NodeBalancer, NodeBalancerConfig, NodeBalancerNode
from compute.pages.choices import MAX_CHOICES

HOME = "load-balancer"
ADD = "add_nodebalancers"
"""The grant of the account for new load balancers, and for the rebuild of a config."""


class BalancerPage(ObjectPage):
    """A page of one load balancer that the user may see."""

    model = NodeBalancer
    noun = "load-balancers"
    home = HOME
    tab_pages = ((HOME, "Overview"), ("load-balancer-graphs", "Graphs"), ("load-balancer-settings", "Settings"))
    tabs_of_changes = frozenset({"load-balancer-settings"})

    def get_queryset(self) -> QuerySet[NodeBalancer]:
        return NodeBalancer.objects.visible_to(self.actor).select_related("region")

    @property
    def balancer(self) -> NodeBalancer:
        found: NodeBalancer = self.object
        return found

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(balancer=self.balancer, **kwargs)


class ConfigPage(BalancerPage):
    """A page about one config of the load balancer; others are answered 404."""

    tab = HOME
    part_noun = "config"

    @cached_property
    def config(self) -> NodeBalancerConfig:
        found = self.balancer.configs.filter(pk=self.kwargs["balancer_config"]).first()
        if found is None:
            raise Http404
        return found


class NodePage(ConfigPage):
    """A page about one node of the config; others are answered 404."""

    part_noun = "node"

    @cached_property
    def node(self) -> NodeBalancerNode:
        rows = self.config.nodes.select_related("config__nodebalancer")
        found = rows.filter(pk=self.kwargs["node"]).first()
        if found is None:
            raise Http404
        return found


def private_addresses(actor: Actor, region_id: str | None = None) -> list[tuple[str, str]]:
    """The private addresses that a node can have, with the label and the region of each instance. One query.

    Without a region, these are the addresses of all regions.
    """
    seen = Instance.objects.visible_to(actor).values("pk")
    rows = Address.objects.filter(public=False, instance__in=seen).order_by("instance__label", "pk")
    if region_id is not None:
        rows = rows.filter(region=region_id)
    found = rows.values_list("address", "instance__label", "region_id")[:MAX_CHOICES]
    return [(address, f"{label}, {region}") for address, label, region in found]
