"""Domains and their records."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, EmailField, IntegerField, ListField
from rest_framework.serializers import IPAddressField as Address

from accounts.actors import Actor
from compute.models import Domain, DomainRecord
from compute.services.domains import domains, records, zone_files, zone_import
from compute.services.domains.domains import DomainSpec
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Constant
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

READ = "domains:read_only"
WRITE = "domains:read_write"
LONGEST_TIME = 2**31 - 1


def times(help_text: str) -> IntegerField:
    return IntegerField(required=False, min_value=0, max_value=LONGEST_TIME, help_text=help_text)


def addresses(help_text: str) -> ListField:
    return ListField(child=Address(), required=False, help_text=help_text)


class DomainResource(Resource):
    """A zone. Seconds are rounded up to those that zones may have; 0 is the platform's default."""

    id = IntegerField(read_only=True)
    type = ChoiceField(Domain.Type.choices)
    domain = CharField(source="label", min_length=1, max_length=255)
    status = ChoiceField(Domain.Status.choices, required=False)
    group = CharField(min_length=1, max_length=50, required=False, allow_blank=True)
    description = CharField(min_length=1, max_length=255, required=False, allow_blank=True)
    soa_email = EmailField(required=False, max_length=254, allow_blank=True, help_text="Required of a master.")
    master_ips = addresses("Whom a slave asks for the zone. Required of a slave.")
    axfr_ips = addresses("Who may transfer the zone.")
    retry_sec = times("Between the tries of a secondary server that could not reach the primary.")
    refresh_sec = times("After which a secondary server asks whether the zone has changed.")
    expire_sec = times("After which a secondary server that cannot ask answers no more.")
    ttl_sec = times("For how long answers may be kept.")
    tags = ListField(child=CharField(), required=False)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    errors = Constant(CharField(), "")

    class Meta:
        filterable = ("domain", "group", "tags")


class DomainCloneRequest(Resource):
    domain = CharField(min_length=1, max_length=255, help_text="The name of the new domain.")


class DomainImportRequest(Resource):
    domain = CharField(min_length=1, max_length=255)
    remote_nameserver = CharField(max_length=260, help_text="A name or an address, with :port where it is not 53.")


class ZoneFile(Resource):
    zone_file = ListField(child=CharField(), read_only=True, help_text="Its lines.")


class RecordResource(Resource):
    """A record. A target is written in full: a name in it is never below the domain unless it says so."""

    id = IntegerField(read_only=True)
    type = ChoiceField(DomainRecord.Type.choices)
    name = CharField(min_length=1, max_length=100, required=False, allow_blank=True)
    # the spaces around a text are part of it; around other targets, the service takes them off
    target = CharField(required=False, allow_blank=True, max_length=4096, trim_whitespace=False)
    priority = IntegerField(min_value=0, max_value=255, required=False)
    weight = IntegerField(min_value=0, max_value=65535, required=False)
    port = IntegerField(min_value=0, max_value=65535, required=False)
    service = CharField(required=False, allow_null=True, max_length=64)
    protocol = CharField(required=False, allow_null=True, max_length=64)
    ttl_sec = times("For how long answers may be kept; 0 is as the domain has it.")
    tag = ChoiceField(DomainRecord.Tag.choices, required=False, allow_null=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)

    class Meta:
        filterable = ("type", "name", "target", "tag")


class DomainViewSet(ResourceViewSet[Actor, Domain]):
    """Domains that the platform's name servers answer for."""

    resource = DomainResource
    requests = {"clone": DomainCloneRequest, "import_zone": DomainImportRequest}
    responses = {"clone": DomainResource, "import_zone": DomainResource, "zone_file": ZoneFile}
    scopes = {
        "list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE, "clone": WRITE,
        "import_zone": WRITE, "zone_file": READ,
    }  # fmt: skip
    grants = {
        "list": READ_ONLY, "retrieve": READ_ONLY, "create": "add_domains", "update": READ_WRITE,
        "destroy": READ_WRITE, "clone": READ_WRITE, "import_zone": "add_domains", "zone_file": READ_ONLY,
    }  # fmt: skip
    throttle = {"import_zone": "domain_import"}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Domain]:
        return Domain.objects.visible_to(actor)

    def spec(self, partial: bool = False) -> DomainSpec:
        values: dict[str, Any] = self.validated(partial)
        return DomainSpec(tags=values.pop("tags", None), values=values)

    def create(self, request: Request) -> JSONResponse:
        """Add a domain: a master, whose records are kept here, or a slave, whose masters are asked for them."""
        return self.answer(domains.create(self.actor, self.spec()))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change what is given of a domain."""
        return self.answer(domains.update(self.actor, self.get_entity(), self.spec(partial=True)))

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a domain with its records."""
        domains.delete(self.actor, self.get_entity())
        return JSONResponse()

    def clone(self, request: Request, id: int) -> JSONResponse:
        """Add a domain with all that another one has."""
        return self.answer(domains.clone(self.actor, self.get_entity(), self.validated()["domain"]))

    def import_zone(self, request: Request) -> JSONResponse:
        """Add a domain with the records that another name server transfers (AXFR)."""
        given = self.validated()
        return self.answer(zone_import.import_zone(self.actor, given["domain"], given["remote_nameserver"]))

    def zone_file(self, request: Request, id: int) -> JSONResponse:
        """The zone as name servers have it, line by line."""
        return JSONResponse({"zone_file": zone_files.lines(self.get_entity())})


class RecordViewSet(ResourceViewSet[Actor, DomainRecord]):
    """The records of a domain."""

    resource = RecordResource
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE}
    grants = {
        "list": READ_ONLY, "retrieve": READ_ONLY, "create": READ_WRITE, "update": READ_WRITE, "destroy": READ_WRITE,
    }  # fmt: skip

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[DomainRecord]:
        return DomainRecord.objects.filter(domain__in=RecordViewSet.parent(actor, path).values("pk"))

    @staticmethod
    def parent(actor: Actor, path: PathParameters) -> QuerySet[Domain]:
        return Domain.objects.visible_to(actor).filter(pk=path["domain_id"])

    def create(self, request: Request, domain_id: int) -> JSONResponse:
        """Add a record."""
        return self.answer(records.create(self.actor, self.get_parent(), self.validated()))

    def update(self, request: Request, domain_id: int, id: int) -> JSONResponse:
        """Change what is given of a record, but its type."""
        return self.answer(records.update(self.actor, self.get_entity(), self.validated(partial=True)))

    def destroy(self, request: Request, domain_id: int, id: int) -> JSONResponse:
        """Delete a record."""
        records.delete(self.actor, self.get_entity())
        return JSONResponse()
