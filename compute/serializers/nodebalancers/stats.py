"""Serializers of statistics of load balancers."""

from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import (
    CharField,
    JSONField,
)

from config.api.serializers import Resource


@extend_schema_field(
    {
        "type": "array",
        "items": {
            "oneOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}],
            "description": "The time in milliseconds since 1970, and the measured value.",
        },
    }
)
class PointsField(JSONField):
    """A chart. The contract says that its items are numbers. The published service answers with pairs of numbers,
    as in the stats of computes, and clients read these."""


class NodeBalancerTraffic(Resource):
    """Traffic of a load balancer, in bits per second."""

    in_ = PointsField(help_text="Bits per second from clients.")
    out = PointsField(help_text="Bits per second to clients.")


class NodeBalancerStatsData(Resource):
    """Charts of a load balancer."""

    connections = PointsField(help_text="Connections per second.")
    traffic = NodeBalancerTraffic(help_text="The traffic, in bits per second.")


class NodeBalancerStats(Resource):
    """Statistics of a load balancer for the last 24 hours."""

    title = CharField()
    data = NodeBalancerStatsData(help_text="The time series.")

    class Meta:
        read_only = True
