"""The pages of one load balancer: its overview, its settings, and deleting it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.timezone import now

from accounts.pages.live_pages import LiveObjectPage
from accounts.pages.objects import ObjectConfirmationPage, ObjectForm, ObjectFormView
from compute.models import Instance, NodeBalancerConfig, NodeBalancerNode, NodeBalancerTransfer
from compute.pages.activity import newest_events
from compute.pages.nodebalancers.base import ADD, HOME, BalancerPage
from compute.serializers.nodebalancers.nodebalancers import NodeBalancerResource
from compute.services.common.months import month_of
from compute.services.nodebalancers import nodebalancers
from config.display.plurals import counted
from config.pages.forms import NumberField, TagsField, TextField
from config.pages.lists import Verb
from config.pages.navigation import NOUNS
from regions.countries import country_name

LABEL_HELP = "3 to 32 letters, digits, - and _."
THROTTLE_HELP = "New connections of each client in a second, 1 to 20. 0 means no limit."
STATUSES = (NodeBalancerNode.Status.UP, NodeBalancerNode.Status.DOWN, NodeBalancerNode.Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node, the label of its instance if the user may see that one, and the verbs that the user may take."""

    node: NodeBalancerNode
    instance: str
    verbs: tuple[Verb, ...]


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """A config with its nodes, the numbers of nodes by status, and the verbs that the user may take."""

    config: NodeBalancerConfig
    nodes: list[NodeRow]
    health: list[tuple[str, int]]
    new_node: str
    verbs: tuple[Verb, ...]


class BalancerView(BalancerPage, LiveObjectPage):
    """``/home/load-balancers/<id>``: addresses, facts, configs with their nodes, graphs and events."""

    template_name = "compute/nodebalancers/balancer.html"
    part_template = "compute/nodebalancers/balancer_part.html"
    tab = HOME
    gone = "This load balancer has been deleted, or you may not see it any more."

    def shown(self) -> dict[str, Any]:
        """Return the changing part of the page. Five queries. The template makes the rows of the configs."""
        balancer = self.balancer
        configs = list(balancer.configs.order_by("port").prefetch_related("nodes"))
        nodes = [node for config in configs for node in config.nodes.all()]
        keys = {node.instance_id for node in nodes}
        labels = dict(Instance.objects.visible_to(self.actor).filter(pk__in=keys).values_list("pk", "label"))
        return {
            "nodes": [(node.pk, node.status) for node in nodes],
            "labels": labels,
            "configs": (self._config_row(config, labels) for config in configs),
            "country": country_name(balancer.region.country),
            "transfer": NodeBalancerTransfer.objects.filter(nodebalancer=balancer, month=month_of(now())).first(),
            **newest_events(self.actor, "nodebalancer", balancer.pk),
        }

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        transfer = shown["transfer"]
        yield self.balancer.version, self.balancer.tags, self.actor.may(ADD)
        yield shown["nodes"], sorted(shown["labels"].items()), shown["events_seen"]
        yield transfer and (transfer.received, transfer.sent)

    def _config_row(self, config: NodeBalancerConfig, labels: Mapping[int, str]) -> ConfigRow:
        nodes = list(config.nodes.all())
        path = (self.balancer.pk, config.pk)
        return ConfigRow(
            config,
            [NodeRow(node, labels.get(node.instance_id, ""), self._node_verbs(node, path)) for node in nodes],
            health_of(Counter(node.status for node in nodes)),
            reverse("load-balancer-node-new", args=path),
            self._config_verbs(path),
        )

    def _config_verbs(self, path: tuple[int, int]) -> tuple[Verb, ...]:
        if not self.may_change:
            return ()
        names = {"edit": "Edit", "rebuild": "Rebuild", "delete": "Delete"}
        if not self.actor.may(ADD):
            del names["rebuild"]
        return tuple(
            Verb(label, reverse(f"load-balancer-config-{name}", args=path)) for name, label in names.items()
        )

    def _node_verbs(self, node: NodeBalancerNode, path: tuple[int, int]) -> tuple[Verb, ...]:
        if not self.may_change:
            return ()
        names = {"edit": "Edit", "delete": "Delete"}
        return tuple(
            Verb(label, reverse(f"load-balancer-node-{name}", args=[*path, node.pk]))
            for name, label in names.items()
        )


def health_of(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the statuses that nodes have, with the numbers of nodes."""
    return [(status.value, counts[status]) for status in STATUSES if counts.get(status)]


# --- settings -------------------------------------------------------------------------------------------


class SettingsForm(ObjectForm):
    body = NodeBalancerResource
    partial = True
    blank = frozenset({"label", "client_conn_throttle", "tags"})
    label = TextField(label="Label", help_text=LABEL_HELP)
    client_conn_throttle = NumberField(label="Limit of connections", help_text=THROTTLE_HELP)
    tags = TagsField()


class SettingsView(BalancerPage, ObjectFormView):
    """``/home/load-balancers/<id>/settings``: label, limit of connections and tags."""

    template_name = "compute/nodebalancers/balancer_settings.html"
    form_class = SettingsForm
    tab = "load-balancer-settings"
    operations = frozenset({"nodebalancers_update"})

    def get_initial(self) -> dict[str, Any]:
        return {name: getattr(self.balancer, name) for name in ("label", "client_conn_throttle", "tags")}

    def perform(self, form: SettingsForm) -> str:
        given = form.given
        tags = given.pop("tags", None)
        nodebalancers.update(self.actor, self.balancer, given, tags, given.problems)
        return "The settings were saved."


class DeleteView(BalancerPage, ObjectConfirmationPage):
    """``/home/load-balancers/<id>/delete``."""

    operations = frozenset({"nodebalancers_destroy"})
    heading = "Delete {page.balancer}"
    introduction = (
        "Deletes the load balancer with {page.parts}. Its address {page.balancer.ipv4} is released, and another "
        "customer may get it. This cannot be undone."
    )
    verb = "Delete load balancer"

    @property
    def parts(self) -> str:
        """The numbers of configs and of nodes, in words."""
        configs = self.balancer.configs.count()
        nodes = NodeBalancerNode.objects.filter(config__nodebalancer=self.balancer).count()
        return f"{counted(configs, 'config')} and {counted(nodes, 'node')}"

    def back_address(self) -> str:
        return self.address(HOME)

    def get_success_url(self) -> str:
        return NOUNS[self.noun].address

    def perform(self, form: forms.Form) -> str:
        nodebalancers.delete(self.actor, self.balancer)
        return f"The load balancer {self.balancer} was deleted."
