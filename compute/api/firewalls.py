"""Firewalls, their rules, and the instances they are on."""

import re
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, Field, IntegerField, ListField

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.filters.firewalls import FirewallDeviceFilterSet, FirewallFilterSet
from compute.models import Firewall, FirewallDevice, Instance
from compute.services.firewalls import firewalls
from compute.services.firewalls.rules import MOST_ADDRESSES, MOST_RULES
from config.api.access import READ_ONLY, READ_WRITE
from config.api.common_fields import IdField
from config.api.fields import Computed, Constant
from config.api.meanings import Meanings
from config.api.paths import PathParameters
from config.api.reasons import not_valid
from config.api.rendering import parsed
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

READ = "firewall:read_only"
WRITE = "firewall:read_write"
DECISIONS = ("ACCEPT", "DROP")
PROTOCOLS = ("TCP", "UDP", "ICMP", "IPENCAP")
DECISIONS_MEAN = {"ACCEPT": "It passes.", "DROP": "It is dropped, without an answer."}
STATUSES = (*Firewall.Status.values, "deleted")
"""One that is deleted is gone, and so never seen as such."""
LABEL = re.compile(r"[a-zA-Z](?:(?!--|__|\.\.)[a-zA-Z0-9-_.])+", re.ASCII)

WRONG_LABEL = not_valid("label", "a letter, then letters, digits, - _ and . only, none of these twice in a row")


class FirewallLabelField(CharField):
    """3..32 characters: first a letter, then letters, digits and ``-_.``, of which none stands twice in a row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=3, max_length=32, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not LABEL.fullmatch(value):
            raise ValidationError([WRONG_LABEL])
        return value


class RuleAddresses(Resource):
    """Networks in CIDR notation: at most 255 of a rule, IPv4 and IPv6 together."""

    ipv4 = ListField(
        child=CharField(),
        required=False,
        max_length=MOST_ADDRESSES,
        help_text="IPv4 networks, such as `192.0.2.0/24`; `0.0.0.0/0` for all.",
    )
    ipv6 = ListField(
        child=CharField(),
        required=False,
        max_length=MOST_ADDRESSES,
        help_text="IPv6 networks, such as `2001:db8::/32`; `::/0` for all.",
    )

    class Meta:
        sometimes = ("ipv4", "ipv6")


class RuleResource(Resource):
    """A rule of a firewall."""

    protocol = ChoiceField(
        PROTOCOLS,
        help_text=Meanings(
            "Which traffic it is about.",
            {
                "TCP": "TCP.",
                "UDP": "UDP.",
                "ICMP": "ICMP, that of IPv6 included.",
                "IPENCAP": "IP within IP.",
            },
        ),
    )
    ports = CharField(
        required=False,
        allow_blank=True,
        help_text="Ports and ranges of ports, with commas between, such as `22, 8000-8010`: at most "
        "15 pieces, where a range counts as two. Without any, all ports. ICMP and IPENCAP have "
        "none.",
    )
    addresses = RuleAddresses(
        help_text="Whom it is about: where inbound traffic comes from, or outbound traffic goes to."
    )
    action = ChoiceField(DECISIONS, help_text=Meanings("What becomes of it.", DECISIONS_MEAN))
    label = CharField(min_length=3, max_length=32, required=False, help_text="A name for the rule.")
    description = CharField(min_length=1, max_length=100, required=False, help_text="What it is for.")

    class Meta:
        sometimes = ("ports", "label", "description")


class RulesResource(Resource):
    """What is let through; the policies say what becomes of traffic that no rule is about."""

    inbound = RuleResource(
        many=True,
        allow_null=True,
        help_text="Rules for traffic to the compute, in the order in which they are tried.",
    )
    outbound = RuleResource(
        many=True,
        allow_null=True,
        help_text="Rules for traffic from the compute, in the order in which they are tried.",
    )
    inbound_policy = ChoiceField(
        DECISIONS, help_text=Meanings("What becomes of inbound traffic that no rule is about.", DECISIONS_MEAN)
    )
    outbound_policy = ChoiceField(
        DECISIONS, help_text=Meanings("What becomes of outbound traffic that no rule is about.", DECISIONS_MEAN)
    )


class FirstRules(RulesResource):
    """At most 25 rules, inbound and outbound together; null is none. The first that fits decides, or the policy."""

    # the stubs know no max_length of serializers of many
    inbound = RuleResource(many=True, required=False, allow_null=True, max_length=MOST_RULES)  # type: ignore[call-arg]
    outbound = RuleResource(many=True, required=False, allow_null=True, max_length=MOST_RULES)  # type: ignore[call-arg]


class RulesRequest(FirstRules):
    """Each list that is given replaces the one there is as a whole."""

    inbound_policy = ChoiceField(DECISIONS, required=False)
    outbound_policy = ChoiceField(DECISIONS, required=False)


class FirewallResource(Resource):
    """A firewall: rules for the public traffic of instances."""

    id = IntegerField(read_only=True)
    label = FirewallLabelField(
        help_text="A name for it, unique on the account: a letter, then letters, digits and `-_.`, "
        "none of these twice in a row."
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    status = ChoiceField(
        STATUSES,
        read_only=True,
        help_text=Meanings(
            "Whether it filters.",
            {
                "enabled": "It does.",
                "disabled": "It does not.",
                "deleted": "Not shown by this platform.",
            },
        ),
    )
    rules: Field = Computed(RulesResource(), parsed, "rules", help_text="What it lets through.")
    tags = ListField(child=CharField(), required=False)


class FirstDevices(Resource):
    """The instances that a new firewall is on."""

    computes = ListField(child=IdField(min_value=0), required=False, help_text="The ids of instances.")


class FirewallCreate(FirewallResource):
    """The body of a new firewall."""

    rules = FirstRules(help_text="What it is to let through.")
    devices = FirstDevices(required=False, help_text="What it is to be on from the beginning.")


class FirewallUpdate(Resource):
    """The body of a change of a firewall."""

    label = FirewallLabelField(required=False)
    status = ChoiceField(
        Firewall.Status.choices,
        required=False,
        help_text=Meanings(
            "Whether it is to filter.",
            {
                "enabled": "It is.",
                "disabled": "It is not.",
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
            "What kind of thing it is.",
            {
                "compute": "An instance.",
            },
        ),
    )
    label = CharField(source="instance.label", help_text="The instance's label.")
    url = Computed(CharField(), address_of, "instance_id")

    class Meta:
        read_only = True


class FirewallDeviceResource(Resource):
    """An instance that the firewall is on."""

    id = IntegerField(read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    entity = FirewallDeviceEntity(source="*", read_only=True, help_text="The instance that the firewall is on.")


class FirewallDeviceRequest(Resource):
    """The body that puts a firewall on an instance."""

    id = IdField(min_value=0, help_text="The instance's id.")
    type = ChoiceField(
        ["compute"],
        help_text=Meanings(
            "What kind of thing it is.",
            {
                "compute": "An instance.",
            },
        ),
    )


class FirewallViewSet(ResourceViewSet[Actor, Firewall]):
    """Firewalls, which filter the public traffic of the computes they are on."""

    resource = FirewallResource
    filterset_class = FirewallFilterSet
    requests = {"create": FirewallCreate, "update": FirewallUpdate}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE}
    grants = {
        "list": READ_ONLY,
        "retrieve": READ_ONLY,
        "create": "add_firewalls",
        "update": READ_WRITE,
        "destroy": READ_WRITE,
    }

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Firewall]:
        return Firewall.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Create a firewall. It is enabled, and on the computes that `devices` names."""
        given = self.body()
        computes = tuple(dict.fromkeys(given.get("devices", {}).get("computes", ())))
        tags = tuple(given.get("tags", ()))
        spec = firewalls.FirewallSpec(given.get("label"), given.get("rules"), computes, tags)
        return self.answer(firewalls.create(self.actor, spec, given.problems))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change label or tags, enable or disable.

        A compute has one enabled firewall: where one of those that this is on has another, it is not enabled.
        """
        firewall, given = self.get_entity(), self.body(partial=True)
        changes = firewalls.FirewallChanges(**given)
        return self.answer(firewalls.update(self.actor, firewall, changes, given.problems))

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a firewall. The computes it was on are filtered no more."""
        firewalls.delete(self.actor, self.get_entity())
        return JSONResponse()


class FirewallRulesViewSet(ResourceViewSet[Actor, Firewall]):
    """The rules of a firewall."""

    resource = RulesResource
    requests = {"replace": RulesRequest}
    responses = {"show": RulesResource, "replace": RulesResource}
    scopes = {"show": READ, "replace": WRITE}
    grants = {"show": READ_ONLY, "replace": READ_WRITE}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Firewall]:
        return Firewall.objects.visible_to(actor)

    def show(self, request: Request, id: int) -> JSONResponse:
        """Get the rules of a firewall.

        In the order in which they are tried.
        """
        return JSONResponse(self.get_entity().rules)

    def replace(self, request: Request, id: int) -> JSONResponse:
        """Replace the rules of a firewall: each list and each policy that is given.

        Connections that stand are not cut by it. No rule lets a connection out to the TCP ports 25, 465 and 587 of
        an account for which these are closed.
        """
        firewall, given = self.get_entity(), self.body(partial=True)
        firewall = firewalls.set_rules(self.actor, firewall, given, given.problems)
        return JSONResponse(firewall.rules)


class FirewallDeviceViewSet(ResourceViewSet[Actor, FirewallDevice]):
    """The computes that a firewall is on, of those that the caller may see."""

    resource = FirewallDeviceResource
    filterset_class = FirewallDeviceFilterSet
    requests = {"create": FirewallDeviceRequest}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "destroy": WRITE}
    grants = {"list": READ_ONLY, "retrieve": READ_ONLY, "create": READ_WRITE, "destroy": READ_WRITE}
    related = ("firewall",)

    @staticmethod
    def parent(actor: Actor, path: PathParameters) -> QuerySet[Firewall]:
        return Firewall.objects.visible_to(actor).filter(pk=path["firewall_id"])

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[FirewallDevice]:
        devices = FirewallDevice.objects.filter(firewall__in=FirewallDeviceViewSet.parent(actor, path).values("pk"))
        if actor.restricted:
            return devices.filter(instance__in=Instance.objects.visible_to(actor).values("pk"))
        return devices

    def create(self, request: Request, firewall_id: int) -> JSONResponse:
        """Put the firewall on a compute.

        An instance has one enabled firewall at most. If the firewall is already on the compute, the answer is the
        existing device.
        """
        firewall, given = self.get_parent(), self.body()
        return self.answer(firewalls.add_device(self.actor, firewall, given.get("id"), given.problems))

    def destroy(self, request: Request, firewall_id: int, id: int) -> JSONResponse:
        """Take the firewall off a compute.

        Its traffic is filtered no more.
        """
        firewalls.remove_device(self.actor, self.get_entity())
        return JSONResponse()


class InstanceFirewallViewSet(ResourceViewSet[Actor, Firewall]):
    """The firewalls that are on an instance, of those that the caller may see."""

    resource = FirewallResource
    filterset_class = FirewallFilterSet
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Firewall]:
        devices = FirewallDevice.objects.filter(instance__in=its_instance(actor, path).values("pk"))
        return Firewall.objects.visible_to(actor).filter(pk__in=devices.values("firewall"))
