"""The addresses and IPv6 ranges of an account, whichever instances have them."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.filters.networking.addresses import AddressFilterSet, IPv6RangeFilterSet
from compute.models import Address, IPv6Range
from compute.serializers.networking.addresses import (
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
    assignments_of,
    range_spec,
    route_target,
)
from compute.services.common.locks import named_instance
from compute.services.networking import assign, ranges, reassign
from config.api.access import READ_ONLY, READ_WRITE, Scope
from config.api.operations import operation
from config.api.views import GenericViewSet, ListViewSet, ReadOnlyModelViewSet, expensive
from config.errors import Missing

READ = "ips:read_only"
WRITE = "ips:read_write"
ON_COMPUTES = Scope((WRITE,), also=("computes:read_write",))
"""The scope of operations that also change instances: the second one is named by the contract, but not required."""


class AddressViewSet(ReadOnlyModelViewSet[Actor, Address]):
    """IPv4 and SLAAC addresses of all instances that the caller may see.

    Link-local addresses are valid only on their own link, so they are shown with their instance only.
    """

    serializer_class = AddressResource
    filterset_class = AddressFilterSet
    queryset = Address.objects.all()
    lookup_value_converter = "address"
    required_scopes = READ
    required_grant = READ_ONLY
    lookup_field = "address"

    @operation(ON_COMPUTES, READ_WRITE, request=AddressAllocation)
    def create(self, request: Request) -> Response:
        """Add an IPv4 address to an instance, as `POST /compute/instances/{id}/ips` does.

        The guest receives the address when it boots.
        """
        given = self.body()
        pk = given.get("compute_id")
        instance = None if pk is None else named_instance(self.actor, pk, "compute_id", given.problems)
        made = assign.add(self.actor, instance, given.get("public"), given.problems)
        return Response(self.get_serializer(made).data)

    @operation(WRITE, READ_WRITE, request=RdnsRequest, whole=True, lane="outside")
    @expensive
    def update(self, request: Request, id: str) -> Response:
        """Set the reverse name of a public IPv4 address, or restore the platform's with null.

        If the platform checks forward records, the name must already resolve to the address.
        """
        changed = assign.rename(self.actor, self.get_object(), self.validated()["rdns"])
        return Response(self.get_serializer(changed).data)


class MoveViewSet(GenericViewSet[Actor, Address]):
    """Addresses between the instances of the account."""

    serializer_class = AddressResource
    queryset = Address.objects.all()

    @action(detail=False, methods=["post"])
    @operation(ON_COMPUTES, READ_WRITE, request=AssignRequest)
    def assign(self, request: Request) -> Response:
        """Assign addresses and IPv6 ranges of a region to other instances, all or none.

        Instances may swap addresses. Each instance keeps at least one public IPv4 address, and has at most one
        private one.
        """
        given = self.body()
        reassign.assign(self.actor, given.get("region"), assignments_of(given), given.problems)
        return Response({})

    @action(detail=False, methods=["post"])
    @operation(ON_COMPUTES, READ_WRITE, request=ShareRequest)
    def share(self, request: Request) -> Response:
        """Set the public IPv4 addresses and IPv6 ranges that an instance may take over (IP failover).

        An address or range that is not in the list is no longer shared with the instance. If the list contains an
        IPv6 range of the instance itself, the range becomes a shared range, which has no `route_target`.
        """
        given = self.body()
        reassign.share(self.actor, given.get("compute_id"), given.get("ips", ()), given.problems)
        return Response({})


class IPv6RangeViewSet(ReadOnlyModelViewSet[Actor, IPv6Range]):
    """IPv6 ranges that are routed to instances."""

    serializer_class = IPv6RangeResource
    filterset_class = IPv6RangeFilterSet
    lookup_value_converter = "range"
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[IPv6Range]:
        return IPv6Range.objects.shown_to(self.viewer).filter(kind=IPv6Range.Kind.RANGE).for_api()

    def get_object(self) -> IPv6Range:
        """Return the range that begins at the path's address. If the path has a prefix length, it must be the
        range's."""
        first, _, length = self.kwargs["id"].partition("/")
        found = self.get_queryset().filter(range=first).first()
        if found is None or (length and int(length) != found.prefix):
            raise Missing
        self.check_object_permissions(self.request, found)
        return found

    # the contract has another name for the scope, though there is no such scope
    @operation(Scope((READ,), also=("ips:read",)), READ_ONLY, response=IPv6RangeDetail)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """A range, with the instance it is routed to and the instances that share it."""
        found = ranges.with_shares(self.actor, self.get_object())
        return Response(self.get_serializer(found).data)

    @operation(ON_COMPUTES, READ_WRITE, request=IPv6RangeRequest, response=IPv6RangeMade)
    def create(self, request: Request) -> Response:
        """Create a range that is routed to an instance.

        The instance is named by `compute_id`, or by its SLAAC address as `route_target`.
        """
        given = self.body()
        made = ranges.create(self.actor, range_spec(given), given.problems)
        target = route_target(made.route_target, made.instance.ipv6 if made.instance else None)
        return Response({"range": str(made), "route_target": target})

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a range. Its addresses are no longer routed."""
        ranges.delete(self.actor, self.get_object())
        return Response({})


class IPv6PoolViewSet(ListViewSet[Actor, IPv6Range]):
    """IPv6 pools. Staff assign them."""

    serializer_class = IPv6PoolResource
    filterset_class = IPv6RangeFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[IPv6Range]:
        return IPv6Range.objects.visible_to(self.viewer).filter(kind=IPv6Range.Kind.POOL).for_api()
