"""The addresses of one instance."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from accounts.actors import Actor
from compute.api.addresses import (
    AddressRequest,
    AddressResource,
    IPv6PoolResource,
    NetworkingResource,
    RdnsRequest,
)
from compute.api.nested import its_instance
from compute.models import Address, Instance
from compute.services.networking import assign
from compute.services.networking.overview import find, networking
from config.api.access import READ_ONLY, READ_WRITE
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.views import ResourceViewSet, expensive
from config.errors import Missing

READ = "computes:read_only"
WRITE = "computes:read_write"


def shown(rows: Iterable[Address]) -> list[dict[str, Any]]:
    """Addresses as the API shows them."""
    return [AddressResource.shape().of_instance(row) for row in rows]


class NetworkingViewSet(ResourceViewSet[Actor, Instance]):
    """All that an instance has of addresses."""

    resource = NetworkingResource
    requests = {"add": AddressRequest}
    responses = {"show": NetworkingResource, "add": AddressResource}
    operations = {"show": "list"}
    scopes = {"show": READ, "add": WRITE}
    grants = {"show": READ_ONLY, "add": READ_WRITE}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
        return its_instance(actor, path)

    def show(self, request: Request, compute_id: int) -> JSONResponse:
        """All addresses of the instance, by protocol and visibility.

        All are in one answer, without pages.
        """
        found = networking(self.get_parent())
        return JSONResponse(
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
                    "global": [IPv6PoolResource.shape().of_instance(row) for row in found.ranges],
                },
            }
        )

    def add(self, request: Request, compute_id: int) -> JSONResponse:
        """Add an IPv4 address: the private one, or a public one as far as the account may have more.

        The guest is told of it when it boots.
        """
        instance, given = self.get_parent(), self.body()
        made = assign.add(self.actor, instance, given.get("public"), given.problems)
        return JSONResponse(shown([made])[0])


class InstanceAddressViewSet(ResourceViewSet[Actor, Address]):
    """One address of an instance, in any spelling."""

    resource = AddressResource
    requests = {"rename": RdnsRequest}
    responses = {"rename": AddressResource}
    scopes = {"retrieve": READ, "rename": WRITE, "destroy": WRITE}
    grants = {"retrieve": READ_ONLY, "rename": READ_WRITE, "destroy": READ_WRITE}
    lanes = {"rename": "outside"}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Address]:
        return Address.objects.of(its_instance(actor, path))

    def get_entity(self) -> Address:
        """The address, the link-local one included. 404 where the instance has no such address."""
        found = find(self.get_parent(), self.kwargs["id"])
        if found is None:
            raise Missing
        return found

    def retrieve(self, request: Request, **path: Any) -> JSONResponse:
        """One address."""
        return self.answer(self.get_entity())

    @expensive
    def rename(self, request: Request, compute_id: int, id: str) -> JSONResponse:
        """Set the reverse name of a public IPv4 address, or restore the platform's with null.

        The name has to lead to the address already, where the platform can look that up.
        """
        return self.answer(assign.rename(self.actor, self.get_entity(), self.validated()["rdns"]))

    def destroy(self, request: Request, compute_id: int, id: str) -> JSONResponse:
        """Delete an IPv4 address of the instance, but its last public one.

        Private addresses can be deleted, SLAAC and link-local ones cannot.
        """
        assign.delete(self.actor, self.get_entity())
        return JSONResponse()
