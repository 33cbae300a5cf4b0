"""Records of domains."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.domains.domains import READ, WRITE
from compute.filters.domains.records import RecordFilterSet
from compute.models import Domain, DomainRecord
from compute.serializers.domains.records import RecordRequest, RecordResource
from compute.services.domains import records
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet
from config.web.client_address import address_of


class RecordViewSet(ReadOnlyModelViewSet[Actor, DomainRecord]):
    """The records of a domain."""

    serializer_class = RecordResource
    filterset_class = RecordFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[DomainRecord]:
        return DomainRecord.objects.filter(domain__in=self.get_parent_queryset().values("pk"))

    def get_parent_queryset(self) -> QuerySet[Domain]:
        return Domain.objects.visible_to(self.viewer).filter(pk=self.kwargs["domain_id"])

    @operation(WRITE, READ_WRITE, request=RecordRequest)
    def create(self, request: Request, domain_id: int) -> Response:
        """Add a record.

        The required fields depend on the type. Name servers serve the record within seconds.
        """
        domain, given = self.get_parent(), self.body()
        made = records.create(self.actor, domain, given, given.problems, address_of(request))
        return Response(self.get_serializer(made).data)

    @operation(WRITE, READ_WRITE, request=RecordRequest)
    def update(self, request: Request, domain_id: int, id: int) -> Response:
        """Change the given fields of a record. Its type cannot change.

        Name servers serve the change within seconds.
        """
        record, given = self.get_object(), self.body(partial=True)
        changed = records.update(self.actor, record, given, given.problems, address_of(request))
        return Response(self.get_serializer(changed).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, domain_id: int, id: int) -> Response:
        """Delete a record.

        Name servers drop it within seconds. Other servers may cache it for its TTL.
        """
        records.delete(self.actor, self.get_object())
        return Response({})
