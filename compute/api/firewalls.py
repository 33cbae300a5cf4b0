"""Firewalls, as an instance lists those it stands behind."""

from django.db.models import F
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.models import Firewall, FirewallDevice
from config.api.access import READ_ONLY
from config.api.fields import Annotated
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

DECISIONS = ("ACCEPT", "DROP")
PROTOCOLS = ("TCP", "UDP", "ICMP", "IPENCAP")


class RuleAddresses(Resource):
    """Networks in CIDR notation."""

    ipv4 = ListField(child=CharField(), required=False)
    ipv6 = ListField(child=CharField(), required=False)


class RuleResource(Resource):
    protocol = ChoiceField(PROTOCOLS)
    ports = CharField(required=False, help_text="Ports and ranges of them, with commas between.")
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


class FirewallResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=3, max_length=32)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    status = ChoiceField(Firewall.Status.choices, read_only=True)
    rules = Annotated(RulesResource(), F("rules"))
    tags = ListField(child=CharField())

    class Meta:
        filterable = ("id", "label", "created", "updated", "tags")


class InstanceFirewallViewSet(ResourceViewSet[Actor, Firewall]):
    """The firewalls that are on an instance, of those that the caller may see."""

    resource = FirewallResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor, path):
        devices = FirewallDevice.objects.filter(instance__in=its_instance(actor, path).values("pk"))
        live = Firewall.objects.visible_to(actor).exclude(status=Firewall.Status.DELETED)
        return live.filter(pk__in=devices.values("firewall"))
