"""Domains."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.filters.domains.domains import DomainFilterSet
from compute.models import Domain
from compute.serializers.domains.domains import (
    DomainCloneRequest,
    DomainImportRequest,
    DomainRequest,
    DomainResource,
    ZoneFile,
    spec_of,
)
from compute.services.domains import domains, zone_files, zone_import
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet, expensive

READ = "domains:read_only"
WRITE = "domains:read_write"


class DomainViewSet(ReadOnlyModelViewSet[Actor, Domain]):
    """Domains that the platform's name servers answer for."""

    serializer_class = DomainResource
    filterset_class = DomainFilterSet
    queryset = Domain.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_domains", request=DomainRequest)
    def create(self, request: Request) -> Response:
        """Add a domain: a master, whose records are kept here, or a slave, whose records come from its masters.

        Its name is unique on the whole platform.
        """
        given = self.body()
        return Response(self.get_serializer(domains.create(self.actor, spec_of(given), given.problems)).data)

    @operation(WRITE, READ_WRITE, request=DomainRequest)
    def update(self, request: Request, id: int) -> Response:
        """Change the given fields of a domain.

        Other fields stay as they are.
        """
        domain, given = self.get_object(), self.body(partial=True)
        changed = domains.update(self.actor, domain, spec_of(given), given.problems)
        return Response(self.get_serializer(changed).data)

    @operation(WRITE, READ_WRITE)
    @expensive
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a domain with its records.

        Name servers stop answering for it. Cannot be undone.
        """
        domains.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=DomainCloneRequest, response=DomainResource, lane="slow")
    @expensive
    def clone(self, request: Request, id: int) -> Response:
        """Clone a domain under another name.

        Records, settings, times and tags are copied.
        """
        made = domains.clone(self.actor, self.get_object(), self.validated()["domain"])
        return Response(self.get_serializer(made).data)

    @action(detail=False, methods=["post"], url_path="import")
    @operation(WRITE, "add_domains", request=DomainImportRequest, response=DomainResource, lane="imports")
    @expensive
    def import_zone(self, request: Request) -> Response:
        """Add a domain with the records that another name server transfers (AXFR).

        Records that are not valid here are left out. The message of the event lists these records, and the values
        that were changed. The name server must answer within two seconds.
        """
        given = self.body()
        source = zone_import.Source(given.get("domain"), given.get("remote_nameserver"))
        return Response(self.get_serializer(zone_import.import_zone(self.actor, source, given.problems)).data)

    @action(detail=True, methods=["get"], url_path="zone-file")
    @operation(READ, READ_ONLY, response=ZoneFile, lane="slow")
    @expensive
    def zone_file(self, request: Request, id: int) -> Response:
        """The zone as name servers have it, line by line.

        All lines are in one answer, without pages.
        """
        return Response({"zone_file": zone_files.lines(self.get_object())})
