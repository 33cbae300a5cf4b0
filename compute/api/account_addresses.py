"""The addresses and IPv6 ranges of an account, whichever instances have them."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from accounts.actors import Actor
from compute.api.addresses import (
    AddressAllocation,
    AddressResource,
    AssignRequest,
    IPv6PoolResource,
    IPv6RangeDetail,
    IPv6RangeMade,
    IPv6RangeRequest,
    IPv6RangeResource,
    RdnsRequest,
    ShareRequest,
    route_target,
)
from compute.models import Address, IPv6Range
from compute.services.common.locks import named_instance
from compute.services.networking import assign, ranges, reassign
from config.api.access import READ_ONLY, READ_WRITE, Scope
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.views import ResourceViewSet, expensive
from config.errors import Missing

READ = "ips:read_only"
WRITE = "ips:read_write"
ON_COMPUTES = Scope((WRITE,), also=("computes:read_write",))
"""What changes instances as well needs no scope for these, though the contract's document names it."""


class AddressViewSet(ResourceViewSet[Actor, Address]):
    """IPv4 and SLAAC addresses of all instances that the caller may see.

    Link-local ones mean nothing outside of their link: they are shown with their instance only.
    """

    resource = AddressResource
    requests = {"add": AddressAllocation, "rename": RdnsRequest}
    responses = {"add": AddressResource, "rename": AddressResource}
    scopes = {"list": READ, "retrieve": READ, "add": ON_COMPUTES, "rename": WRITE}
    grants = {"list": READ_ONLY, "retrieve": READ_ONLY, "add": READ_WRITE, "rename": READ_WRITE}
    lanes = {"rename": "outside"}
    lookup = "address"

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Address]:
        return Address.objects.visible_to(actor)

    def add(self, request: Request) -> JSONResponse:
        """Add an IPv4 address to an instance, as `POST /compute/instances/{id}/ips` does.

        The guest is told of it when it boots.
        """
        given = self.body()
        pk = given.get("compute_id")
        instance = None if pk is None else named_instance(self.actor, pk, "compute_id", given.problems)
        return self.answer(assign.add(self.actor, instance, given.get("public"), given.problems))

    @expensive
    def rename(self, request: Request, id: str) -> JSONResponse:
        """Set the reverse name of a public IPv4 address, or restore the platform's with null.

        The name has to lead to the address already, where the platform can look that up.
        """
        return self.answer(assign.rename(self.actor, self.get_entity(), self.validated()["rdns"]))


class MoveViewSet(ResourceViewSet[Actor, Address]):
    """Which instances of the account have which addresses."""

    resource = AddressResource
    requests = {"assign": AssignRequest, "share": ShareRequest}
    scopes = {"assign": ON_COMPUTES, "share": ON_COMPUTES}
    grants = {"assign": READ_WRITE, "share": READ_WRITE}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Address]:
        return Address.objects.visible_to(actor)

    def assign(self, request: Request) -> JSONResponse:
        """Give addresses and IPv6 ranges of a region to other instances, all or none.

        Instances may swap theirs. Each keeps at least one public IPv4 address, and has at most one private one.
        """
        given = self.body()
        wanted = given.get("assignments", ())
        moves = [reassign.Assignment(each.get("address"), each.get("compute_id")) for each in wanted]
        reassign.assign(self.actor, given.get("region"), moves, given.problems)
        return JSONResponse()

    def share(self, request: Request) -> JSONResponse:
        """Set the public IPv4 addresses and IPv6 ranges that an instance may take over (IP failover).

        An address or range that is not in the list is no longer shared with the instance. If the list contains an
        IPv6 range of the instance itself, the range becomes a shared range, which has no `route_target`.
        """
        given = self.body()
        reassign.share(self.actor, given.get("compute_id"), given.get("ips", ()), given.problems)
        return JSONResponse()


class IPv6RangeViewSet(ResourceViewSet[Actor, IPv6Range]):
    """IPv6 ranges that are routed to instances."""

    resource = IPv6RangeResource
    requests = {"allocate": IPv6RangeRequest}
    responses = {"allocate": IPv6RangeMade, "retrieve": IPv6RangeDetail}
    scopes = {
        "list": READ,
        # spelt so in the contract, though there is no such scope
        "retrieve": Scope((READ,), also=("ips:read",)),
        "allocate": ON_COMPUTES,
        "destroy": WRITE,
    }
    grants = {"list": READ_ONLY, "retrieve": READ_ONLY, "allocate": READ_WRITE, "destroy": READ_WRITE}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[IPv6Range]:
        return IPv6Range.objects.shown_to(actor).filter(kind=IPv6Range.Kind.RANGE).for_api()

    def get_entity(self) -> IPv6Range:
        """The range that begins at the path's address; a prefix length, where there is one, has to be its own."""
        first, _, length = self.kwargs["id"].partition("/")
        found = self.objects(self.actor, self.kwargs).filter(range=first).first()
        if found is None or (length and int(length) != found.prefix):
            raise Missing
        self.check_level(found)
        return found

    def retrieve(self, request: Request, **path: Any) -> JSONResponse:
        """One range, with the instance it is routed to and those that it is shared with."""
        found = ranges.with_shares(self.actor, self.get_entity())
        return JSONResponse(IPv6RangeDetail.shape().of_instance(found))

    def allocate(self, request: Request) -> JSONResponse:
        """Create a range that is routed to an instance.

        The instance is named by `compute_id`, or by its SLAAC address as `route_target`.
        """
        given = self.body()
        spec = ranges.RangeSpec(given.get("prefix_length"), given.get("compute_id"), given.get("route_target"))
        made = ranges.create(self.actor, spec, given.problems)
        target = route_target(made.route_target, made.instance.ipv6 if made.instance else None)
        return JSONResponse({"range": str(made), "route_target": target})

    def destroy(self, request: Request, id: str) -> JSONResponse:
        """Delete a range. Its addresses lead nowhere from then on."""
        ranges.delete(self.actor, self.get_entity())
        return JSONResponse()


class IPv6PoolViewSet(ResourceViewSet[Actor, IPv6Range]):
    """IPv6 pools. Staff give them out."""

    resource = IPv6PoolResource
    scopes = {"list": READ}
    grants = {"list": READ_ONLY}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[IPv6Range]:
        return IPv6Range.objects.visible_to(actor).filter(kind=IPv6Range.Kind.POOL).for_api()
