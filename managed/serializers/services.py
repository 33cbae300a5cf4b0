"""Serializers of services of managed monitoring."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef
from rest_framework.serializers import CharField, ChoiceField, DateTimeField, Field, IntegerField, ListField

from config.api.common_fields import IdField, printable
from config.api.fields import Annotated
from config.api.meanings import Meanings
from config.api.serializers import Body, Resource
from managed.models import Service
from managed.services.probing import MAX_TIMEOUT
from managed.services.services import ServiceSpec

CREDENTIALS = ArraySubquery(
    Service.credentials.through.objects.filter(service=OuterRef("pk"))
    .order_by("credential_id")
    .values("credential_id")
)


class ServiceResource(Resource):
    """A service that is monitored."""

    id = IntegerField(read_only=True)
    status = ChoiceField(
        Service.Status.choices,
        read_only=True,
        help_text=Meanings(
            "The status of the service.",
            {
                "disabled": "The service is not checked.",
                "pending": "The service was not checked yet.",
                "ok": "The service works.",
                "problem": "Two checks in a row failed.",
            },
        ),
    )
    service_type = ChoiceField(
        Service.Type.choices,
        help_text=Meanings(
            "The type of the checks.",
            {
                "url": "A request for the address. The answer must have a status below 400 and contain `body`, "
                "if it is set.",
                "tcp": "A connection to the address.",
            },
        ),
    )
    label = CharField(
        min_length=3,
        max_length=64,
        validators=[printable("label")],
        help_text="A name for the service, 3 to 64 characters.",
    )
    address = CharField(
        min_length=3, max_length=100, help_text="The address to check: a URL, or a host and port for `tcp`."
    )
    timeout = IntegerField(
        min_value=1, max_value=MAX_TIMEOUT, help_text="The timeout of a check in seconds, 1 to 255."
    )
    body = CharField(
        min_length=0, max_length=100, required=False, allow_blank=True, allow_null=True, trim_whitespace=False,
        help_text="Text that the answer must contain. Null for any answer.",
    )  # fmt: skip
    consultation_group = CharField(
        min_length=0,
        max_length=50,
        required=False,
        allow_blank=True,
        help_text="The group of contacts who are notified of problems.",
    )
    notes = CharField(
        max_length=65535,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="Notes for staff, up to 65,535 characters. May be null.",
    )
    region = CharField(
        source="region_id",
        required=False,
        allow_null=True,
        help_text="The region of a private address. It must be null for public addresses.",
    )
    credentials: Field = Annotated(
        ListField(child=IntegerField()),
        CREDENTIALS,
        help_text="The ids of the credentials that staff use to repair the service.",
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)


class ServiceWish(ServiceResource):
    """The body of a service to monitor."""

    credentials = ListField(
        child=IdField(),
        required=False,
        help_text="The ids of the credentials that staff may use to repair the service.",
    )


def spec_of(given: Body) -> ServiceSpec:
    """Return the spec for the service layer, from a body."""
    return ServiceSpec(credentials=given.pop("credentials", None), values=dict(given))
