"""The addresses of one instance."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.nested import OfInstance
from compute.models import Address, Instance
from compute.serializers.networking.addresses import (
    AddressRequest,
    AddressResource,
    IPv6PoolResource,
    NetworkingResource,
    RdnsRequest,
    shown,
)
from compute.services.networking import assign
from compute.services.networking.overview import find, networking
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import GenericViewSet, expensive
from config.errors import Missing

READ = "computes:read_only"
WRITE = "computes:read_write"


class NetworkingViewSet(OfInstance, GenericViewSet[Actor, Instance]):
    """All addresses of an instance."""

    serializer_class = NetworkingResource

    def get_queryset(self) -> QuerySet[Instance]:
        return self.get_parent_queryset()

    @operation(READ, READ_ONLY, noun="list")
    def retrieve(self, request: Request, compute_id: int) -> Response:
        """All addresses of the instance, by protocol and visibility.

        All are in one answer, without pages.
        """
        found = networking(self.get_parent())
        return Response(
            {
                "ipv4": {
                    "public": shown(found.public),
                    "private": shown(found.private),
                    "shared": shown(found.shared),
                    "reserved": shown(found.reserved),
                },
                "ipv6": {
                    "slaac": shown([found.slaac])[0] if found.slaac else None,
                    "link_local": shown([found.link_local])[0],
                    "global": IPv6PoolResource(found.ranges, many=True).data,
                },
            }
        )

    @operation(WRITE, READ_WRITE, request=AddressRequest, response=AddressResource)
    def create(self, request: Request, compute_id: int) -> Response:
        """Add an IPv4 address: the private one, or another public one if the account may have more.

        The guest receives the address when it boots.
        """
        instance, given = self.get_parent(), self.body()
        made = assign.add(self.actor, instance, given.get("public"), given.problems)
        return Response(shown([made])[0])


class InstanceAddressViewSet(OfInstance, GenericViewSet[Actor, Address]):
    """One address of an instance, in any spelling."""

    serializer_class = AddressResource
    lookup_value_converter = "address"

    def get_queryset(self) -> QuerySet[Address]:
        return Address.objects.of(self.get_parent_queryset())

    def get_object(self) -> Address:
        """Return the address, which may be the link-local one. 404 if the instance has no such address."""
        found = find(self.get_parent(), self.kwargs["id"])
        if found is None:
            raise Missing
        return found

    @operation(READ, READ_ONLY)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """One address."""
        return Response(self.get_serializer(self.get_object()).data)

    @operation(WRITE, READ_WRITE, request=RdnsRequest, whole=True, lane="outside")
    @expensive
    def update(self, request: Request, compute_id: int, id: str) -> Response:
        """Set the reverse name of a public IPv4 address, or restore the platform's with null.

        If the platform checks forward records, the name must already resolve to the address.
        """
        changed = assign.rename(self.actor, self.get_object(), self.validated()["rdns"])
        return Response(self.get_serializer(changed).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, compute_id: int, id: str) -> Response:
        """Delete an IPv4 address of the instance, except its last public one.

        Private addresses can be deleted. SLAAC and link-local addresses cannot.
        """
        assign.delete(self.actor, self.get_object())
        return Response({})
