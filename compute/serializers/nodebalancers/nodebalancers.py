"""Serializers of load balancers, with their transfer and statistics."""

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
MAX_CONNECTIONS = 20
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
        allow_null=True, help_text="MB in both directions in this month. Null if there is no measurement."
    )
    out = FloatField(allow_null=True, help_text="MB to clients in this month. Null if there is no measurement.")
    in_ = FloatField(allow_null=True, help_text="MB from clients in this month. Null if there is no measurement.")

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
        help_text="A name for the load balancer, unique on the account: letters, digits, `-` and `_`. By "
        "default `balancer` and its id.",
    )
    region = CharField(source="region_id", read_only=True)
    hostname = CharField(
        read_only=True, help_text="The host name that resolves to the address of the load balancer."
    )
    ipv4 = IPAddressField(read_only=True, help_text="The IPv4 address of the load balancer.")
    ipv6 = IPAddressField(
        read_only=True, allow_null=True, help_text="The IPv6 address of the load balancer. Null if there is none."
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    client_conn_throttle = IntegerField(
        min_value=0, max_value=MAX_CONNECTIONS, required=False,
        help_text="The maximum number of new connections for each client and second, 0 to 20. 0, the "
"default, means no limit.",
    )  # fmt: skip
    transfer = Annotated(NodeBalancerTransferResource(), _transfer(), help_text="The transfer of this month.")
    tags = ListField(child=CharField(), required=False)


class NewNodeBalancer(Resource):
    """The body of a new load balancer."""

    region = CharField(help_text="The region of the load balancer.")
    label = CharField(
        min_length=3,
        max_length=32,
        required=False,
        validators=[LABEL],
        help_text="A name for the load balancer, unique on the account. By default `balancer` and its id.",
    )
    client_conn_throttle = IntegerField(
        min_value=0,
        max_value=MAX_CONNECTIONS,
        required=False,
        help_text="The maximum number of new connections for each client and second, 0 to 20. 0, the "
        "default, means no limit.",
    )
    configs = NewNodeBalancerConfig(
        many=True, required=False, help_text="The first configurations, each with a port and its nodes."
    )
    tags = ListField(child=CharField(), required=False)


def spec_of(given: dict[str, Any]) -> NodeBalancerSpec:
    """Return the spec for the service, from the valid fields of a body."""
    configs = tuple(map(wish_of, given.pop("configs", ())))
    return NodeBalancerSpec(**given, configs=configs)
