"""Services: what is checked, and whether it is up."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.core.validators import RegexValidator
from django.db.models import OuterRef, QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, Field, IntegerField, ListField

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.fields import Annotated
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from managed.api.base import READ, WRITE, ManagedViewSet
from managed.models import Service
from managed.services import services
from managed.services.probing import LONGEST_TIMEOUT
from managed.services.services import ServiceSpec

LABEL = r"\A[a-zA-Z0-9\-_ .]*\Z"
CREDENTIALS = ArraySubquery(
    Service.credentials.through.objects.filter(service=OuterRef("pk"))
    .order_by("credential_id")
    .values("credential_id")
)


class ServiceResource(Resource):
    """A service that is watched."""

    id = IntegerField(read_only=True)
    status = ChoiceField(Service.Status.choices, read_only=True)
    service_type = ChoiceField(Service.Type.choices)
    label = CharField(min_length=3, max_length=64, validators=[RegexValidator(LABEL, "label is not valid")])
    address = CharField(min_length=3, max_length=100, help_text="A URL; host:port for tcp.")
    timeout = IntegerField(min_value=1, max_value=LONGEST_TIMEOUT, help_text="Seconds, of the whole exchange.")
    body = CharField(
        min_length=0, max_length=100, required=False, allow_blank=True, allow_null=True, trim_whitespace=False,
        help_text="Text that the answer has to contain.",
    )  # fmt: skip
    consultation_group = CharField(min_length=0, max_length=50, required=False, allow_blank=True)
    notes = CharField(max_length=65535, required=False, allow_blank=True, allow_null=True)
    region = CharField(
        source="region_id", required=False, allow_null=True, help_text="Of private addresses, and of no others."
    )
    credentials: Field = Annotated(ListField(child=IntegerField()), CREDENTIALS)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)


class ServiceWish(ServiceResource):
    credentials = ListField(child=IntegerField(), required=False)


class ServiceViewSet(ManagedViewSet[Service]):
    """Services of managed."""

    resource = ServiceResource
    requests = {"create": ServiceWish, "update": ServiceWish}
    responses = {"disable": ServiceResource, "enable": ServiceResource}
    scopes = {
        "list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE, "disable": WRITE,
        "enable": WRITE,
    }  # fmt: skip
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Service]:
        return Service.objects.visible_to(actor)

    def wish(self, partial: bool = False) -> ServiceSpec:
        values: dict[str, Any] = self.validated(partial)
        return ServiceSpec(credentials=values.pop("credentials", None), values=values)

    def create(self, request: Request) -> JSONResponse:
        """Add a service and begin to check it."""
        return self.retrieve(request, id=services.create(self.actor, self.wish()).pk)

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change what is given of a service."""
        services.update(self.actor, self.get_entity(), self.wish(partial=True))
        return self.retrieve(request, id=id)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a service: it is checked no more."""
        services.delete(self.actor, self.get_entity())
        return JSONResponse()

    def disable(self, request: Request, id: int) -> JSONResponse:
        """Stop checking a service."""
        services.disable(self.actor, self.get_entity())
        return self.retrieve(request, id=id)

    def enable(self, request: Request, id: int) -> JSONResponse:
        """Check a service again that was disabled."""
        services.enable(self.actor, self.get_entity())
        return self.retrieve(request, id=id)
