"""Serializers of domains."""

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    EmailField,
    Field,
    IntegerField,
    ListField,
)
from rest_framework.serializers import IPAddressField as Address

from compute.models import Domain
from compute.services.domains import records
from compute.services.domains.domains import DomainSpec
from config.api.fields import CaselessField, Computed
from config.api.meanings import Meanings
from config.api.serializers import Body, Resource

MAX_TIME = 2**31 - 1


def times(help_text: str) -> IntegerField:
    return IntegerField(required=False, min_value=0, max_value=MAX_TIME, help_text=help_text)


def addresses(help_text: str) -> ListField:
    return ListField(child=Address(), required=False, help_text=help_text)


def as_sent(column: str, help_text: str) -> Field:
    """Return the field of a column that has the client's value with an underscore in front, for SRV records."""
    child = CharField(allow_null=True, max_length=64)
    return Computed(child, records.as_sent, "type", column, ordered_by=column, help_text=help_text)


class DomainResource(Resource):
    """A zone. Times are in seconds, rounded up to the next valid time; 0 is the platform's default."""

    id = IntegerField(read_only=True)
    type = ChoiceField(
        Domain.Type.choices,
        help_text=Meanings(
            "The role of this platform for the zone.",
            {
                "master": "The records are on this platform.",
                "slave": "The records are copied from the servers in `master_ips`.",
            },
        ),
    )
    domain: Field = Computed(
        CaselessField(),
        lambda label, spelling: spelling or label,
        "label",
        "spelling",
        help_text="The name of the zone as the client sent it, without a final dot. Unicode becomes Punycode.",
    )
    status = ChoiceField(
        Domain.Status.choices,
        required=False,
        help_text=Meanings(
            "Whether name servers answer for the zone.",
            {
                "disabled": "Name servers do not answer.",
                "active": "Name servers answer. The default.",
            },
        ),
    )
    group = CharField(
        min_length=1,
        max_length=50,
        required=False,
        allow_blank=True,
        help_text="A group for sorting domains, up to 50 characters.",
    )
    description = CharField(
        min_length=1,
        max_length=255,
        required=False,
        allow_blank=True,
        help_text="A description of the domain, up to 255 characters.",
    )
    soa_email = EmailField(
        required=False,
        max_length=254,
        allow_blank=True,
        help_text="The mail address of the zone's administrator. Required for a master.",
    )
    master_ips = addresses(
        "The servers that a slave is copied from; at most 1000 characters together. Required for a slave."
    )
    axfr_ips = addresses(
        "The addresses that may transfer the zone; at most 1000 characters together. By default none."
    )
    retry_sec = times(
        "The interval in seconds at which a secondary server retries after it could not reach "
        "the primary. 0, the default, means 14400."
    )
    refresh_sec = times(
        "The interval in seconds at which a secondary server checks for changes of the zone. 0, "
        "the default, means 14400."
    )
    expire_sec = times(
        "The time in seconds after which a secondary server stops answering if it cannot reach "
        "the primary. 0, the default, means 1209600."
    )
    ttl_sec = times("The time to live of answers in seconds. 0, the default, means 86400.")
    tags = ListField(child=CharField(), required=False)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    errors = CharField(
        read_only=True,
        help_text="The reason why the zone is not served as requested. Empty if there is no problem.",
    )


class DomainRequest(DomainResource):
    """The body of a domain."""

    domain = CharField(
        source="label",
        min_length=1,
        max_length=255,
        help_text="The name of the zone. It must be unique on the platform. Case does not matter.",
    )


class DomainCloneRequest(Resource):
    """The body of a clone."""

    domain = CharField(min_length=1, max_length=255, help_text="The name of the new domain.")


class DomainImportRequest(Resource):
    """The body of an import."""

    domain = CharField(min_length=1, max_length=255, help_text="The name of the zone.")
    remote_nameserver = CharField(
        max_length=260,
        help_text="The name server to transfer the zone from: a name or an address. Add `:port` if the "
        "port is not 53.",
    )


class ZoneFile(Resource):
    """A zone file, as name servers have it."""

    zone_file = ListField(
        child=CharField(), read_only=True, help_text="The lines of the zone file, in the format of BIND."
    )


def spec_of(given: Body) -> DomainSpec:
    """Return the spec for the service, from the valid fields of a body."""
    return DomainSpec(tags=given.pop("tags", None), values=dict(given))
