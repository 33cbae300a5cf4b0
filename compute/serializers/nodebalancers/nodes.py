"""The nodes of a load balancer's config on the wire."""

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
MOST_WEIGHT = 255


class NodeBalancerNodeResource(Resource):
    """A node: an address and a port that a config sends traffic to."""

    id = IntegerField(read_only=True)
    address = CharField(
        max_length=21,
        help_text="A private IPv4 address of a compute in the region, and a port: `192.168.128.7:80`.",
    )
    label = CharField(
        min_length=3, max_length=32, validators=[LABEL], help_text="A name for it; letters, digits and `-_.`."
    )
    status = ChoiceField(
        NodeBalancerNode.Status.choices,
        read_only=True,
        help_text=Meanings(
            "Whether it gets traffic, as the last check found.",
            {
                "Unknown": "Nobody looked yet, or nothing checks it.",
                "UP": "It does.",
                "DOWN": "It does not.",
            },
        ),
    )
    weight = IntegerField(
        min_value=1,
        max_value=MOST_WEIGHT,
        required=False,
        help_text="Its share among the others, 1 to 255; by default 50.",
    )
    mode = ChoiceField(
        NodeBalancerNode.Mode.choices,
        required=False,
        help_text=Meanings(
            "What it gets.",
            {
                "accept": "All that is its share; the default.",
                "reject": "Nothing.",
                "drain": "Clients only that stick to it.",
                "backup": "Everything when no other is up.",
            },
        ),
    )
    config_id = IntegerField(read_only=True, help_text="The config that it is behind.")
    nodebalancer_id = IntegerField(
        source="config.nodebalancer_id", read_only=True, help_text="The load balancer that it is of."
    )

    class Meta:
        in_part = True


class RebuiltNode(Resource):
    """A node of a rebuild. With an `id`, an existing node is kept, and the other given fields change it."""

    id = IdField(
        required=False,
        allow_null=True,
        min_value=1,
        help_text="A node that is there and stays; without it the node is a new one.",
    )
    address = CharField(max_length=21, required=False)
    label = CharField(min_length=3, max_length=32, required=False, validators=[LABEL])
    weight = IntegerField(min_value=1, max_value=MOST_WEIGHT, required=False)
    mode = ChoiceField(NodeBalancerNode.Mode.choices, required=False)

    class Meta:
        as_in = (NodeBalancerNodeResource,)
        in_part = True


def node_wish(given: Mapping[str, Any]) -> NodeWish:
    """Return the node that the service takes, from a validated body."""
    return NodeWish(**given)
