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
        min_value=1, max_value=MAX_TIMEOUT, help_text="The timeout of a check in seconds, 1 to 255."
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
        help_text="The group of contacts who are notified of problems.",
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
    """The body of a service to monitor."""

    credentials = ListField(
        child=IdField(), required=False, help_text="The ids of the credentials that staff may use to mend it."
    )


def spec_of(given: Body) -> ServiceSpec:
    """Return the spec for the service layer, from a body."""
    return ServiceSpec(credentials=given.pop("credentials", None), values=dict(given))
