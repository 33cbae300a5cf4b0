"""Services: what is checked, and whether it is up."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, Field, IntegerField, ListField

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.common_fields import IdField, printable
from config.api.fields import Annotated
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.serializers import Body, Resource
from config.api.views import ReadOnlyModelViewSet
from managed.api.base import MANAGED, READ, WRITE
from managed.filters import ServiceFilterSet
from managed.models import Service
from managed.services import services
from managed.services.probing import LONGEST_TIMEOUT
from managed.services.services import ServiceSpec

CREDENTIALS = ArraySubquery(
    Service.credentials.through.objects.filter(service=OuterRef("pk"))
    .order_by("credential_id")
    .values("credential_id")
)


class ServiceResource(Resource):
    """A service that is watched."""

    id = IntegerField(read_only=True)
    status = ChoiceField(
        Service.Status.choices,
        read_only=True,
        help_text=Meanings(
            "What the checks found.",
            {
                "disabled": "It is not checked.",
                "pending": "It was not checked yet.",
                "ok": "It works.",
                "problem": "Two checks in a row failed.",
            },
        ),
    )
    service_type = ChoiceField(
        Service.Type.choices,
        help_text=Meanings(
            "How it is checked.",
            {
                "url": "Its address is fetched; the answer has a status below 400, and `body` in it where "
                "that is set.",
                "tcp": "A connection to its address is made.",
            },
        ),
    )
    label = CharField(
        min_length=3,
        max_length=64,
        validators=[printable("label")],
        help_text="A name for it, 3 to 64 characters.",
    )
    address = CharField(
        min_length=3, max_length=100, help_text="What is checked: a URL, or for `tcp` a host and port."
    )
    timeout = IntegerField(
        min_value=1, max_value=LONGEST_TIMEOUT, help_text="Seconds that the whole exchange may take, 1 to 255."
    )
    body = CharField(
        min_length=0, max_length=100, required=False, allow_blank=True, allow_null=True, trim_whitespace=False,
        help_text="Text that the answer has to contain; null for any.",
    )  # fmt: skip
    consultation_group = CharField(
        min_length=0,
        max_length=50,
        required=False,
        allow_blank=True,
        help_text="The group of contacts who are told of problems.",
    )
    notes = CharField(
        max_length=65535,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="What staff should know; null or up to 65,535 characters.",
    )
    region = CharField(
        source="region_id",
        required=False,
        allow_null=True,
        help_text="The region of a private address; null for public ones, which must not have it.",
    )
    credentials: Field = Annotated(
        ListField(child=IntegerField()),
        CREDENTIALS,
        help_text="The ids of the credentials that staff use to mend it.",
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)


class ServiceWish(ServiceResource):
    """The body of a service that is to be watched."""

    credentials = ListField(
        child=IdField(), required=False, help_text="The ids of the credentials that staff may use to mend it."
    )


def spec_of(given: Body) -> ServiceSpec:
    """What the service takes, from a body."""
    return ServiceSpec(credentials=given.pop("credentials", None), values=dict(given))


class ServiceViewSet(ReadOnlyModelViewSet[Actor, Service]):
    """Services of managed."""

    serializer_class = ServiceResource
    filterset_class = ServiceFilterSet
    permission_classes = MANAGED
    queryset = Service.objects.all()
    required_scopes = READ
    required_grant = UNRESTRICTED

    @operation(WRITE, UNRESTRICTED, request=ServiceWish)
    def create(self, request: Request) -> Response:
        """Add a service and begin to check it.

        It is `pending` until the first check.
        """
        given = self.body()
        return self.retrieve(request, id=services.create(self.actor, spec_of(given), given.problems).pk)

    @operation(WRITE, UNRESTRICTED, request=ServiceWish)
    def update(self, request: Request, id: int) -> Response:
        """Change what is given of a service.

        What is not named stays.
        """
        service, given = self.get_object(), self.body(partial=True)
        services.update(self.actor, service, spec_of(given), given.problems)
        return self.retrieve(request, id=id)

    @operation(WRITE, UNRESTRICTED)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a service: it is checked no more.

        Its issues stay. Cannot be undone.
        """
        services.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, UNRESTRICTED, response=ServiceResource)
    def disable(self, request: Request, id: int) -> Response:
        """Stop checking a service.

        It is `disabled`. Where it is so already, nothing happens.
        """
        services.disable(self.actor, self.get_object())
        return self.retrieve(request, id=id)

    @action(detail=True, methods=["post"])
    @operation(WRITE, UNRESTRICTED, response=ServiceResource)
    def enable(self, request: Request, id: int) -> Response:
        """Check a service again that was disabled.

        It is `pending` until the next check.
        """
        services.enable(self.actor, self.get_object())
        return self.retrieve(request, id=id)
