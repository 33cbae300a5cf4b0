"""The page to create a load balancer, with a first config and a first node."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.http import HttpResponse
from django.urls import reverse

from accounts.pages.objects import NewObjectForm, NewObjectPage
from compute.models import NodeBalancer, NodeBalancerConfig
from compute.pages.choices import offer_regions
from compute.pages.nodebalancers.balancers import LABEL_HELP, THROTTLE_HELP
from compute.pages.nodebalancers.base import ADD, HOME, private_addresses
from compute.pages.nodebalancers.config_form import (
    CONFIG_FIELDS,
    Section,
    ask_for_key_again,
    config_fields,
    port_of,
    propose_port,
    sections_of,
    values_of,
)
from compute.pages.nodebalancers.nodes import address_field, label_field, port_problem, with_port
from compute.serializers.nodebalancers.nodebalancers import NewNodeBalancer, spec_of
from compute.services.nodebalancers import nodebalancers
from config.pages.forms import ChoiceField, FlagField, NumberField, SelectWithReasons, TagsField, TextField

OF_NODE = {"node_label": "label", "node_address": "address"}
"""The form's fields of the first node, and their names in the body."""
OF_PAGE = frozenset({"has_config", "node_port", *OF_NODE, *CONFIG_FIELDS})
"""The fields that the body does not have at its top."""


class NewBalancerForm(NewObjectForm):
    """A load balancer. The first config is optional, and so is the first node of the config."""

    body = NewNodeBalancer
    label = TextField(
        label="Label", help_text=f"{LABEL_HELP} If empty, the platform chooses one.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )  # fmt: skip
    region = ChoiceField(
        label="Region", widget=SelectWithReasons, help_text="The instances that get the traffic are in this region."
    )
    client_conn_throttle = NumberField(label="Limit of connections", help_text=THROTTLE_HELP)
    tags = TagsField()
    has_config = FlagField(
        label="Add a first config", widget=forms.CheckboxInput(attrs={"class": "of-first-config"}),
        help_text="A config is a port of the load balancer. You can add others later.",
    )  # fmt: skip
    node_label = label_field("Label of the node")
    node_address = address_field(help_text="Choose the private address of an instance in the region, or type it.")
    node_port = NumberField(label="Port of the node", help_text="The port on which the instance answers.")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields |= config_fields()
        propose_port(self)
        offer_regions(self, nodebalancers.CAPABILITY, before=[("", "choose one")])

    # --- the parts of the page ------------------------------------------------------------------------------

    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in ("label", "region", "client_conn_throttle", "tags") if name in self.fields]

    def sections(self) -> Iterable[Section]:
        return sections_of(self)

    def node(self) -> list[forms.BoundField]:
        return [self[name] for name in ("node_label", "node_address", "node_port")]

    def addresses(self) -> list[tuple[str, str]]:
        return private_addresses(self.actor)

    # --- the body of the request ----------------------------------------------------------------------------

    def _has_node(self) -> bool:
        given = self.cleaned_data
        return bool(given["has_config"]) and any(given[name] for name in OF_NODE)

    def clean(self) -> None:
        if self._has_node() and (reason := port_problem(self.cleaned_data["node_port"])):
            self.add_error("node_port", reason)

    def is_sent(self, name: str, value: Any) -> bool:
        return name not in OF_PAGE and super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        body, given = super().as_body(), self.cleaned_data
        if not given["has_config"]:
            return body
        config = {name: given[name] for name in CONFIG_FIELDS if given[name] not in (None, "")}
        config["port"] = port_of(given)
        node = {name: given[field] for field, name in OF_NODE.items() if given[field]}
        if "address" in node:
            node["address"] = with_port(node["address"], given.get("node_port"))
        return {**body, "configs": [{**config, "nodes": [node] if self._has_node() else []}]}


class NewBalancerView(NewObjectPage):
    """``/home/load-balancers/new``."""

    template_name = "compute/nodebalancers/balancer_new.html"
    form_class = NewBalancerForm
    noun = "load-balancers"
    operations = frozenset({"nodebalancers_create"})
    grant = ADD
    heading = "Create a load balancer"
    introduction = (
        "A load balancer has its own public address. It distributes the connections of clients among instances of "
        "its region, over their private addresses."
    )
    verb = "Create load balancer"
    renamed: ClassVar[Mapping[str, str]] = {
        **{f"configs[0].{name}": name for name in CONFIG_FIELDS},
        **{f"configs[0].nodes[0].{name}": field for field, name in OF_NODE.items()},
    }
    made: NodeBalancer

    def get_initial(self) -> dict[str, Any]:
        return {**values_of(NodeBalancerConfig()), "client_conn_throttle": 0, "has_config": True, "node_port": 80}

    def perform(self, form: NewBalancerForm) -> str:
        self.made = nodebalancers.create(self.actor, spec_of(form.given), form.given.problems)
        return f"The load balancer {self.made} was created. It accepts traffic within seconds."

    def form_invalid(self, form: NewBalancerForm) -> HttpResponse:
        ask_for_key_again(form)
        return super().form_invalid(form)

    def get_success_url(self) -> str:
        return reverse(HOME, args=[self.made.pk])
