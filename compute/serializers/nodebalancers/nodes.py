"""Serializers of nodes of a load balancer's config."""

from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from rest_framework.serializers import CharField, ChoiceField, IntegerField

from compute.models import NodeBalancerNode
from compute.services.nodebalancers.nodes import NodeWish
from config.api.common_fields import IdField
from config.api.meanings import Meanings
from config.api.reasons import not_valid
from config.api.serializers import Resource

LABEL = RegexValidator(r"\A[a-zA-Z0-9\-_.]*\Z", not_valid("label", "letters, digits, - _ and . only"))
MAX_WEIGHT = 255


class NodeBalancerNodeResource(Resource):
    """A node: an address and a port that a config sends traffic to."""

    id = IntegerField(read_only=True)
    address = CharField(
        max_length=21,
        help_text="A private IPv4 address of a compute in the region, and a port: `192.168.128.7:80`.",
    )
    label = CharField(
        min_length=3, max_length=32, validators=[LABEL], help_text="A name for the node: letters, digits and `-_.`."
    )
    status = ChoiceField(
        NodeBalancerNode.Status.choices,
        read_only=True,
        help_text=Meanings(
            "The result of the last check.",
            {
                "Unknown": "The node was not checked yet, or there are no checks.",
                "UP": "The node gets traffic.",
                "DOWN": "The node gets no traffic.",
            },
        ),
    )
    weight = IntegerField(
        min_value=1,
        max_value=MAX_WEIGHT,
        required=False,
        help_text="The weight of the node among the nodes, 1 to 255. By default 50.",
    )
    mode = ChoiceField(
        NodeBalancerNode.Mode.choices,
        required=False,
        help_text=Meanings(
            "The mode of the node.",
            {
                "accept": "The node gets its share of the connections. The default.",
                "reject": "The node gets no connections.",
                "drain": "The node gets only connections of clients that stay with it.",
                "backup": "The node gets all connections if no other node is up.",
            },
        ),
    )
    config_id = IntegerField(read_only=True, help_text="The id of the configuration.")
    nodebalancer_id = IntegerField(
        source="config.nodebalancer_id", read_only=True, help_text="The id of the load balancer."
    )

    class Meta:
        in_part = True


class RebuiltNode(Resource):
    """A node of a rebuild. With an `id`, an existing node is kept, and the other given fields change it."""

    id = IdField(
        required=False,
        allow_null=True,
        min_value=1,
        help_text="The id of an existing node. Without an id, a new node is created.",
    )
    address = CharField(max_length=21, required=False)
    label = CharField(min_length=3, max_length=32, required=False, validators=[LABEL])
    weight = IntegerField(min_value=1, max_value=MAX_WEIGHT, required=False)
    mode = ChoiceField(NodeBalancerNode.Mode.choices, required=False)

    class Meta:
        as_in = (NodeBalancerNodeResource,)
        in_part = True


def node_wish(given: Mapping[str, Any]) -> NodeWish:
    """Return the node for the service, from a validated body."""
    return NodeWish(**given)
