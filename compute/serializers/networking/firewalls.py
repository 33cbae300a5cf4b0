"""Serializers of firewalls: their rules, and the instances they are on."""

import re
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, Field, IntegerField, ListField

from compute.models import Firewall
from compute.services.networking.firewalls.firewalls import FirewallSpec
from compute.services.networking.firewalls.rules import MAX_ADDRESSES, MAX_RULES
from config.api.common_fields import IdField
from config.api.fields import Computed, Constant, PathField
from config.api.meanings import Meanings
from config.api.reasons import not_valid
from config.api.rendering import parsed
from config.api.serializers import Resource

DECISIONS = ("ACCEPT", "DROP")
PROTOCOLS = ("TCP", "UDP", "ICMP", "IPENCAP")
DECISIONS_MEAN = {"ACCEPT": "The traffic passes.", "DROP": "The traffic is dropped, without an answer."}
STATUSES = (*Firewall.Status.values, "deleted")
"""The statuses of the contract. A deleted firewall has no row, so `deleted` is never shown."""
LABEL = re.compile(r"[a-zA-Z](?:(?!--|__|\.\.)[a-zA-Z0-9-_.])+", re.ASCII)

WRONG_LABEL = not_valid("label", "a letter, then letters, digits, - _ and . only, none of these twice in a row")


class FirewallLabelField(CharField):
    """A text of 3..32 characters: first a letter, then letters, digits and ``-_.``, none of which stands twice in a
    row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=3, max_length=32, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not LABEL.fullmatch(value):
            raise ValidationError([WRONG_LABEL])
        return value


class RuleAddresses(Resource):
    """Networks in CIDR notation. A rule has at most 255, IPv4 and IPv6 together."""

    ipv4 = ListField(
        child=CharField(),
        required=False,
        max_length=MAX_ADDRESSES,
        help_text="IPv4 networks, such as `192.0.2.0/24`. `0.0.0.0/0` means all addresses.",
    )
    ipv6 = ListField(
        child=CharField(),
        required=False,
        max_length=MAX_ADDRESSES,
        help_text="IPv6 networks, such as `2001:db8::/32`. `::/0` means all addresses.",
    )

    class Meta:
        sometimes = ("ipv4", "ipv6")


class RuleResource(Resource):
    """A rule of a firewall."""

    protocol = ChoiceField(
        PROTOCOLS,
        help_text=Meanings(
            "The protocol that the rule matches.",
            {
                "TCP": "TCP.",
                "UDP": "UDP.",
                "ICMP": "ICMP and ICMPv6.",
                "IPENCAP": "IP in IP.",
            },
        ),
    )
    ports = CharField(
        required=False,
        allow_blank=True,
        help_text="Ports and ranges of ports, separated by commas, such as `22, 8000-8010`. At most 15 "
        "ports, where a range counts as two. If empty, the rule matches all ports. ICMP and "
        "IPENCAP have no ports.",
    )
    addresses = RuleAddresses(
        help_text="The addresses that the rule matches: sources of inbound traffic, or destinations of "
        "outbound traffic."
    )
    action = ChoiceField(DECISIONS, help_text=Meanings("The action of the rule.", DECISIONS_MEAN))
    label = CharField(min_length=3, max_length=32, required=False, help_text="A name for the rule.")
    description = CharField(min_length=1, max_length=100, required=False, help_text="A description of the rule.")

    class Meta:
        sometimes = ("ports", "label", "description")


class RulesResource(Resource):
    """The rules of a firewall. The policies decide about traffic that no rule matches."""

    inbound = RuleResource(
        many=True,
        allow_null=True,
        help_text="Rules for traffic to the compute, in the order of evaluation.",
    )
    outbound = RuleResource(
        many=True,
        allow_null=True,
        help_text="Rules for traffic from the compute, in the order of evaluation.",
    )
    inbound_policy = ChoiceField(
        DECISIONS, help_text=Meanings("The action for inbound traffic that no rule matches.", DECISIONS_MEAN)
    )
    outbound_policy = ChoiceField(
        DECISIONS, help_text=Meanings("The action for outbound traffic that no rule matches.", DECISIONS_MEAN)
    )


class FirstRules(RulesResource):
    """At most 25 rules, inbound and outbound together; null is an empty list. The first rule that matches decides,
    else the policy."""

    # the stubs know no max_length of serializers of many
    inbound = RuleResource(many=True, required=False, allow_null=True, max_length=MAX_RULES)  # type: ignore[call-arg]
    outbound = RuleResource(many=True, required=False, allow_null=True, max_length=MAX_RULES)  # type: ignore[call-arg]


class RulesRequest(FirstRules):
    """New rules of a firewall. A list that is given replaces the whole present list."""

    inbound_policy = ChoiceField(DECISIONS, required=False)
    outbound_policy = ChoiceField(DECISIONS, required=False)


class FirewallResource(Resource):
    """A firewall: rules for the public traffic of instances."""

    id = IntegerField(read_only=True)
    label = FirewallLabelField(
        help_text="A name for the firewall, unique on the account: a letter, then letters, digits and "
        "`-_.`. None of `-_.` may be twice in a row."
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    status = ChoiceField(
        STATUSES,
        read_only=True,
        help_text=Meanings(
            "The status of the firewall.",
            {
                "enabled": "The firewall filters traffic.",
                "disabled": "The firewall does not filter traffic.",
                "deleted": "Not shown by this platform.",
            },
        ),
    )
    rules: Field = Computed(RulesResource(), parsed, "rules", help_text="The rules of the firewall.")
    tags = ListField(child=CharField(), required=False)


class FirstDevices(Resource):
    """The instances that a new firewall is on."""

    computes = ListField(child=IdField(min_value=0), required=False, help_text="The ids of the instances.")


class FirewallCreate(FirewallResource):
    """The body of a new firewall."""

    rules = FirstRules(help_text="The rules of the firewall.")
    devices = FirstDevices(required=False, help_text="The devices that the firewall is attached to at first.")


class FirewallUpdate(Resource):
    """The body of a change of a firewall."""

    label = FirewallLabelField(required=False)
    status = ChoiceField(
        Firewall.Status.choices,
        required=False,
        help_text=Meanings(
            "The new status of the firewall.",
            {
                "enabled": "The firewall filters traffic.",
                "disabled": "The firewall does not filter traffic.",
            },
        ),
    )
    tags = ListField(child=CharField(), required=False)

    class Meta:
        as_in = (FirewallResource,)


def address_of(instance_id: int) -> str:
    return f"/v4/compute/instances/{instance_id}"


class FirewallDeviceEntity(Resource):
    """The instance that a firewall is on."""

    id = IntegerField(source="instance_id", help_text="The instance's id.")
    type = Constant(
        ChoiceField(["compute"]),
        "compute",
        help_text=Meanings(
            "The kind of the entity.",
            {
                "compute": "An instance.",
            },
        ),
    )
    label = CharField(source="instance.label", help_text="The instance's label.")
    url = Computed(PathField(), address_of, "instance_id")

    class Meta:
        read_only = True


class FirewallDeviceResource(Resource):
    """An instance that the firewall is on."""

    id = IntegerField(read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    entity = FirewallDeviceEntity(
        source="*", read_only=True, help_text="The instance that the firewall is attached to."
    )


class FirewallDeviceRequest(Resource):
    """The body that attaches a firewall to an instance."""

    id = IdField(min_value=0, help_text="The instance's id.")
    type = ChoiceField(
        ["compute"],
        help_text=Meanings(
            "The kind of the entity.",
            {
                "compute": "An instance.",
            },
        ),
    )


def spec_of(given: Mapping[str, Any]) -> FirewallSpec:
    """Return the spec for the service, from the valid fields of a body."""
    computes = tuple(dict.fromkeys(given.get("devices", {}).get("computes", ())))
    return FirewallSpec(given.get("label"), given.get("rules"), computes, tuple(given.get("tags", ())))
