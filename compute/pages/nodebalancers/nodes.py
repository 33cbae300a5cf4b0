"""The nodes of a config of a load balancer: adding, changing and deleting one."""

from typing import Any

from django import forms

from accounts.pages.objects import ObjectConfirmationPage, ObjectForm, ObjectFormPage
from compute.models import NodeBalancerNode
from compute.pages.nodebalancers.base import ConfigPage, NodePage, private_addresses
from compute.serializers.nodebalancers.configs import NodeBalancerConfigRequest
from compute.serializers.nodebalancers.nodes import NodeBalancerNodeResource, node_wish
from compute.services.nodebalancers import nodes
from config.pages.forms import ChoiceField, NumberField, TextField
from config.pages.reasons import reason_on_page

ADDRESSES = "private-addresses"
"""The id of the list of addresses on the page (``node_addresses.html``)."""
MODES = (
    ("accept", "accept: gets its share of the connections"),
    ("reject", "reject: gets no connections"),
    ("drain", "drain: only clients that already use this node"),
    ("backup", "backup: gets connections only if no other node is up"),
)


def label_field(label: str = "Label", help_text: str = "3 to 32 letters, digits, - _ and .") -> TextField:
    return TextField(label=label, help_text=help_text, widget=forms.TextInput(attrs={"autocomplete": "off"}))


def address_field(label: str = "Private address", help_text: str = "") -> TextField:
    """An address to choose from the list of the page, or to type."""
    typed = {"list": ADDRESSES, "autocomplete": "off", "spellcheck": "false"}
    return TextField(label=label, help_text=help_text, widget=forms.TextInput(attrs=typed))


def with_port(address: str, port: Any) -> str:
    return f"{address}:{port}"


def port_problem(port: Any) -> str:
    """Return the reason why a port is not valid, or empty."""
    if port in (None, ""):
        return "Port is required"
    problems = NodeBalancerConfigRequest.read_body({"port": port}, partial=True).problems
    return next((reason_on_page(problem) for problem in problems), "")


class NodeForm(ObjectForm):
    """A node. Its address and its port, which are one text in the API, have a field each."""

    body = NodeBalancerNodeResource
    label = label_field()
    address = address_field(help_text="Choose the private address of an instance in the region, or type it.")
    port = NumberField(label="Port of the node", help_text="The port on which the instance answers.")
    weight = NumberField(label="Weight", help_text="1 to 255. A node with twice the weight gets twice the traffic.")
    mode = ChoiceField(label="Mode", choices=MODES)

    def addresses(self) -> list[tuple[str, str]]:
        return private_addresses(self.actor, self.object.region_id)

    def clean_port(self) -> Any:
        port = self.cleaned_data["port"]
        if reason := port_problem(port):
            raise forms.ValidationError(reason)
        return port

    def is_sent(self, name: str, value: Any) -> bool:
        return name != "port" and super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        if "address" in body and "port" in self.cleaned_data:
            body["address"] = with_port(body["address"], self.cleaned_data["port"])
        return body


class EditNodeForm(NodeForm):
    partial = True
    blank = frozenset({"label", "address", "weight"})


class NodeFormPage(ConfigPage, ObjectFormPage):
    """A page with the form of a node."""

    template_name = "compute/nodebalancers/node_form.html"


class NewNodeView(NodeFormPage):
    """``/home/load-balancers/<id>/configs/<id>/nodes/new``."""

    form_class = NodeForm
    operations = frozenset({"nodebalancers_configs_nodes_create"})
    heading = "Add a node to {page.config}"
    introduction = "The node gets traffic of the load balancer {page.balancer} within seconds."
    verb = "Add node"

    def get_initial(self) -> dict[str, Any]:
        blank = NodeBalancerNode()
        return {"port": self.config.port, "weight": blank.weight, "mode": blank.mode}

    def perform(self, form: NodeForm) -> str:
        made = nodes.create(self.actor, self.config, node_wish(form.given), form.given.problems)
        return f"The node {made} was added to {self.config}."


class EditNodeView(NodePage, NodeFormPage):
    """``/home/load-balancers/<id>/configs/<id>/nodes/<id>/edit``."""

    form_class = EditNodeForm
    operations = frozenset({"nodebalancers_configs_nodes_update"})
    heading = "Edit {page.node}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        address, _, port = self.node.address.partition(":")
        names = ("label", "weight", "mode")
        return {"address": address, "port": port, **{name: getattr(self.node, name) for name in names}}

    def perform(self, form: EditNodeForm) -> str:
        changed = nodes.update(self.actor, self.node, node_wish(form.given), form.given.problems)
        return f"The node {changed} was saved."


class DeleteNodeView(NodePage, ObjectConfirmationPage):
    """``/home/load-balancers/<id>/configs/<id>/nodes/<id>/delete``."""

    operations = frozenset({"nodebalancers_configs_nodes_destroy"})
    heading = "Delete {page.node}"
    introduction = "The node {page.node.address} gets no more traffic of {page.config}. The instance stays."
    verb = "Delete node"

    def perform(self, form: forms.Form) -> str:
        nodes.delete(self.actor, self.node)
        return f"The node {self.node} was deleted."
