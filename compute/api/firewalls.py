"""Firewalls, their rules, and the instances they are on."""

import re
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, Field, IntegerField, ListField

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.models import Firewall, FirewallDevice, Instance
from compute.services.firewalls import firewalls
from compute.services.firewalls.rules import MOST_ADDRESSES, MOST_RULES
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Computed, Constant
from config.api.paths import PathParameters
from config.api.rendering import fragment
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

READ = "firewall:read_only"
WRITE = "firewall:read_write"
DECISIONS = ("ACCEPT", "DROP")
PROTOCOLS = ("TCP", "UDP", "ICMP", "IPENCAP")
STATUSES = (*Firewall.Status.values, "deleted")
"""One that is deleted is gone, and so never seen as such."""
LABEL = re.compile(r"[a-zA-Z](?:(?!--|__|\.\.)[a-zA-Z0-9-_.])+", re.ASCII)
KEY = 2**63 - 1


class FirewallLabelField(CharField):
    """3..32 characters: first a letter, then letters, digits and ``-_.``, of which none stands twice in a row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=3, max_length=32, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not LABEL.fullmatch(value):
            self.fail("invalid")
        return value


class RuleAddresses(Resource):
    """Networks in CIDR notation: at most 255 of a rule, IPv4 and IPv6 together."""

    ipv4 = ListField(child=CharField(), required=False, max_length=MOST_ADDRESSES)
    ipv6 = ListField(child=CharField(), required=False, max_length=MOST_ADDRESSES)


class RuleResource(Resource):
    protocol = ChoiceField(PROTOCOLS)
    ports = CharField(
        required=False,
        allow_blank=True,
        help_text="Ports and ranges of them, with commas between: at most 15 pieces, of which a range is two. "
        "Without any, all ports. ICMP and IPENCAP have none.",
    )
    addresses = RuleAddresses()
    action = ChoiceField(DECISIONS)
    label = CharField(min_length=3, max_length=32, required=False)
    description = CharField(min_length=1, max_length=100, required=False)


class RulesResource(Resource):
    """What is let through; the policies say what becomes of traffic that no rule is about."""

    inbound = RuleResource(many=True)
    outbound = RuleResource(many=True, allow_null=True)
    inbound_policy = ChoiceField(DECISIONS)
    outbound_policy = ChoiceField(DECISIONS)


class FirstRules(RulesResource):
    """At most 25 rules, inbound and outbound together. The first that fits decides, or else the policy."""

    # the stubs know no max_length of serializers of many
    inbound = RuleResource(many=True, required=False, max_length=MOST_RULES)  # type: ignore[call-arg]
    outbound = RuleResource(many=True, required=False, allow_null=True, max_length=MOST_RULES)  # type: ignore[call-arg]


class RulesRequest(FirstRules):
    """Each list that is given replaces the one there is as a whole."""

    inbound_policy = ChoiceField(DECISIONS, required=False)
    outbound_policy = ChoiceField(DECISIONS, required=False)


class FirewallResource(Resource):
    id = IntegerField(read_only=True)
    label = FirewallLabelField()
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    status = ChoiceField(STATUSES, read_only=True)
    rules: Field = Computed(RulesResource(), fragment, "rules")
    tags = ListField(child=CharField(), required=False)

    class Meta:
        filterable = ("id", "label", "created", "updated", "tags")


class FirstDevices(Resource):
    computes = ListField(child=IntegerField(min_value=0, max_value=KEY), required=False)


class FirewallCreate(FirewallResource):
    rules = FirstRules()
    devices = FirstDevices(required=False, help_text="What it is to be on from the beginning.")


class FirewallUpdate(Resource):
    label = FirewallLabelField(required=False)
    status = ChoiceField(Firewall.Status.choices, required=False)
    tags = ListField(child=CharField(), required=False)


def address_of(instance_id: int) -> str:
    return f"/v4/compute/instances/{instance_id}"


class FirewallDeviceEntity(Resource):
    id = IntegerField(source="instance_id")
    type = Constant(ChoiceField(["compute"]), "compute")
    label = CharField(source="instance.label")
    url = Computed(CharField(), address_of, "instance_id")

    class Meta:
        read_only = True


class FirewallDeviceResource(Resource):
    """An instance that the firewall is on."""

    id = IntegerField(read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    entity = FirewallDeviceEntity(source="*", read_only=True)

    class Meta:
        filterable = ("id", "created", "updated")


class FirewallDeviceRequest(Resource):
    id = IntegerField(min_value=0, max_value=KEY)
    type = ChoiceField(["compute"])


class FirewallViewSet(ResourceViewSet[Actor, Firewall]):
    """Firewalls, which filter the public traffic of the computes they are on."""

    resource = FirewallResource
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
        given: dict[str, Any] = self.validated()
        computes = tuple(dict.fromkeys(given.get("devices", {}).get("computes", ())))
        tags = tuple(given.get("tags", ()))
        spec = firewalls.FirewallSpec(given["label"], given["rules"], computes, tags)
        return self.answer(firewalls.create(self.actor, spec))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change label or tags, enable or disable.

        A compute has one enabled firewall: where one of those that this is on has another, it is not enabled.
        """
        given = firewalls.FirewallChanges(**self.validated(partial=True))
        return self.answer(firewalls.update(self.actor, self.get_entity(), given))

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
        """Get the rules of a firewall."""
        return JSONResponse(self.get_entity().rules)

    def replace(self, request: Request, id: int) -> JSONResponse:
        """Replace the rules of a firewall: each list and each policy that is given.

        Connections that stand are not cut by it.
        """
        firewall = firewalls.set_rules(self.actor, self.get_entity(), self.validated(partial=True))
        return JSONResponse(firewall.rules)


class FirewallDeviceViewSet(ResourceViewSet[Actor, FirewallDevice]):
    """The computes that a firewall is on, of those that the caller may see."""

    resource = FirewallDeviceResource
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
        """Put the firewall on a compute."""
        firewall = self.get_parent()
        return self.answer(firewalls.add_device(self.actor, firewall, self.validated()["id"]))

    def destroy(self, request: Request, firewall_id: int, id: int) -> JSONResponse:
        """Take the firewall off a compute."""
        firewalls.remove_device(self.actor, self.get_entity())
        return JSONResponse()


class InstanceFirewallViewSet(ResourceViewSet[Actor, Firewall]):
    """The firewalls that are on an instance, of those that the caller may see."""

    resource = FirewallResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Firewall]:
        devices = FirewallDevice.objects.filter(instance__in=its_instance(actor, path).values("pk"))
        return Firewall.objects.visible_to(actor).filter(pk__in=devices.values("firewall"))
