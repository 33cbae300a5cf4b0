"""Load balancers on the wire, with their transfer and statistics."""

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Expression, F, Func, OuterRef, Subquery, Value
from django.db.models.functions import Cast, Coalesce, JSONObject, Now, Round
from rest_framework.serializers import (
    CharField,
    DateTimeField,
    FloatField,
    IntegerField,
    IPAddressField,
    ListField,
)

from compute.models import NodeBalancerTransfer
from compute.serializers.nodebalancers.configs import NewNodeBalancerConfig, wish_of
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from config.api.fields import Annotated
from config.api.reasons import not_valid
from config.api.serializers import Resource

LABEL = RegexValidator(r"\A[a-zA-Z0-9\-_]*\Z", not_valid("label", "letters, digits, - and _ only"))
MOST_CONNECTIONS = 20
MB = 10**6


class _Month(Func):
    """SQL: the first day of a time's month, in UTC."""

    template = "(date_trunc('month', %(expressions)s AT TIME ZONE 'UTC'))::date"
    output_field = models.DateField()


def _megabytes(number: Any) -> Expression:
    return Round(Cast(number, models.FloatField()) / MB * 100) / 100.0


def _transfer() -> Coalesce:
    """Return an expression for the traffic of this month; its parts are null if nothing was measured."""
    counted = NodeBalancerTransfer.objects.filter(nodebalancer=OuterRef("pk"), month=_Month(Now()))
    total = _megabytes(F("received") + F("sent"))
    sums = JSONObject(total=total, out=_megabytes(F("sent")), **{"in": _megabytes(F("received"))})
    unmeasured = {"total": None, "out": None, "in": None}
    return Coalesce(Subquery(counted.values(sums=sums)), Value(unmeasured, models.JSONField()))


class NodeBalancerTransferResource(Resource):
    """Traffic of a load balancer this month, in MB; null where it is not measured."""

    total = FloatField(
        allow_null=True, help_text="MB in both directions this month; null where it is not measured."
    )
    out = FloatField(allow_null=True, help_text="MB out this month; null where it is not measured.")
    in_ = FloatField(allow_null=True, help_text="MB in this month; null where it is not measured.")

    class Meta:
        read_only = True


class NodeBalancerResource(Resource):
    """A load balancer."""

    id = IntegerField(read_only=True)
    label = CharField(
        min_length=3,
        max_length=32,
        required=False,
        validators=[LABEL],
        help_text="A name for it, unique on the account: letters, digits, `-` and `_`. By default "
        "`balancer` and its id.",
    )
    region = CharField(source="region_id", read_only=True)
    hostname = CharField(read_only=True, help_text="The name that leads to its address.")
    ipv4 = IPAddressField(read_only=True, help_text="Its IPv4 address.")
    ipv6 = IPAddressField(read_only=True, allow_null=True, help_text="Its IPv6 address; null without.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    client_conn_throttle = IntegerField(
        min_value=0, max_value=MOST_CONNECTIONS, required=False,
        help_text="Connections a second that one client may open, 0 to 20; 0, the default, is as many as it likes.",
    )  # fmt: skip
    transfer = Annotated(NodeBalancerTransferResource(), _transfer(), help_text="What went through it this month.")
    tags = ListField(child=CharField(), required=False)


class NewNodeBalancer(Resource):
    """The body of a new load balancer."""

    region = CharField(help_text="The region that it is for.")
    label = CharField(
        min_length=3,
        max_length=32,
        required=False,
        validators=[LABEL],
        help_text="A name for it, unique on the account; by default `balancer` and its id.",
    )
    client_conn_throttle = IntegerField(
        min_value=0,
        max_value=MOST_CONNECTIONS,
        required=False,
        help_text="Connections a second that one client may open, 0 to 20; 0, the default, is as many as it likes.",
    )
    configs = NewNodeBalancerConfig(
        many=True, required=False, help_text="The ports it listens on from the beginning, with their nodes."
    )
    tags = ListField(child=CharField(), required=False)


def spec_of(given: dict[str, Any]) -> NodeBalancerSpec:
    """Return the spec that the service takes, from the good fields of a body."""
    configs = tuple(map(wish_of, given.pop("configs", ())))
    return NodeBalancerSpec(**given, configs=configs)
