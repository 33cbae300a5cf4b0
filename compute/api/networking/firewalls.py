"""Firewalls, their rules, and the instances they are on."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.nested import OfInstance
from compute.filters.networking.firewalls import FirewallDeviceFilterSet, FirewallFilterSet
from compute.models import Firewall, FirewallDevice, Instance
from compute.serializers.networking.firewalls import (
    FirewallCreate,
    FirewallDeviceRequest,
    FirewallDeviceResource,
    FirewallResource,
    FirewallUpdate,
    RulesRequest,
    RulesResource,
    spec_of,
)
from compute.services.networking.firewalls import firewalls
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet, ListViewSet, ReadOnlyModelViewSet

READ = "firewall:read_only"
WRITE = "firewall:read_write"


class FirewallViewSet(ReadOnlyModelViewSet[Actor, Firewall]):
    """Firewalls, which filter the public traffic of the computes they are on."""

    serializer_class = FirewallResource
    filterset_class = FirewallFilterSet
    queryset = Firewall.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_firewalls", request=FirewallCreate)
    def create(self, request: Request) -> Response:
        """Create a firewall. It is enabled, and on the computes that `devices` names."""
        given = self.body()
        return Response(self.get_serializer(firewalls.create(self.actor, spec_of(given), given.problems)).data)

    @operation(WRITE, READ_WRITE, request=FirewallUpdate)
    def update(self, request: Request, id: int) -> Response:
        """Change label or tags, enable or disable.

        A compute has at most one enabled firewall. A firewall cannot be enabled if one of its computes has another
        enabled one.
        """
        firewall, given = self.get_object(), self.body(partial=True)
        changes = firewalls.FirewallChanges(**given)
        return Response(self.get_serializer(firewalls.update(self.actor, firewall, changes, given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a firewall. It no longer filters its computes."""
        firewalls.delete(self.actor, self.get_object())
        return Response({})


class FirewallRulesViewSet(GenericViewSet[Actor, Firewall]):
    """The rules of a firewall."""

    serializer_class = RulesResource
    queryset = Firewall.objects.all()

    @operation(READ, READ_ONLY)
    def retrieve(self, request: Request, id: int) -> Response:
        """Get the rules of a firewall.

        Rules are in the order of evaluation.
        """
        return Response(self.get_object().rules)

    @operation(WRITE, READ_WRITE, request=RulesRequest, whole=True)
    def update(self, request: Request, id: int) -> Response:
        """Replace the rules of a firewall: each list and each policy that is given.

        Established connections are not cut. If the mail ports (TCP 25, 465 and 587) are closed for the account, no
        rule opens them for outgoing connections.
        """
        firewall, given = self.get_object(), self.body(partial=True)
        firewall = firewalls.set_rules(self.actor, firewall, given, given.problems)
        return Response(firewall.rules)


class FirewallDeviceViewSet(ReadOnlyModelViewSet[Actor, FirewallDevice]):
    """The computes that a firewall is on. The list leaves out computes that the caller may not see."""

    serializer_class = FirewallDeviceResource
    filterset_class = FirewallDeviceFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_parent_queryset(self) -> QuerySet[Firewall]:
        return Firewall.objects.visible_to(self.viewer).filter(pk=self.kwargs["firewall_id"])

    def get_queryset(self) -> QuerySet[FirewallDevice]:
        devices = FirewallDevice.objects.filter(firewall__in=self.get_parent_queryset().values("pk"))
        devices = devices.select_related("firewall")
        if self.viewer.restricted:
            return devices.filter(instance__in=Instance.objects.visible_to(self.viewer).values("pk"))
        return devices

    @operation(WRITE, READ_WRITE, request=FirewallDeviceRequest)
    def create(self, request: Request, firewall_id: int) -> Response:
        """Attach the firewall to a compute.

        An instance has at most one enabled firewall. If the firewall is already on the compute, the answer is the
        existing device.
        """
        firewall, given = self.get_parent(), self.body()
        made = firewalls.add_device(self.actor, firewall, given.get("id"), given.problems)
        return Response(self.get_serializer(made).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, firewall_id: int, id: int) -> Response:
        """Take the firewall off a compute.

        The firewall no longer filters the compute's traffic.
        """
        firewalls.remove_device(self.actor, self.get_object())
        return Response({})


class InstanceFirewallViewSet(OfInstance, ListViewSet[Actor, Firewall]):
    """The firewalls on an instance. Firewalls that the caller may not see are left out."""

    serializer_class = FirewallResource
    filterset_class = FirewallFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[Firewall]:
        devices = FirewallDevice.objects.filter(instance__in=self.get_parent_queryset().values("pk"))
        return Firewall.objects.visible_to(self.viewer).filter(pk__in=devices.values("firewall"))
