"""Serializers of records of domains."""

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    Field,
    IntegerField,
)

from compute.models import DomainRecord
from compute.serializers.domains.domains import as_sent, times
from config.api.meanings import Meanings
from config.api.serializers import Resource


class RecordResource(Resource):
    """A record of a domain. A host name in its target is the full name."""

    id = IntegerField(read_only=True)
    type = ChoiceField(
        DomainRecord.Type.choices,
        help_text=Meanings(
            "The type of the record. It cannot be changed.",
            {
                "A": "The IPv4 address of a name.",
                "AAAA": "The IPv6 address of a name.",
                "NS": "The name server of a name.",
                "MX": "The mail server of a name.",
                "CNAME": "Another name for a name.",
                "TXT": "A text.",
                "SRV": "The host and port of a service.",
                "PTR": "The name of an address.",
                "CAA": "The authorities that may issue certificates.",
            },
        ),
    )
    name = CharField(
        min_length=1,
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="The name of the record, absolute or relative to the domain. Empty for the domain "
        "itself. The name of an SRV record begins with its service and protocol: `_sip._tcp`.",
    )
    # the spaces around a text are part of it; around other targets, the service takes them off
    target = CharField(
        required=False,
        allow_blank=True,
        max_length=4096,
        trim_whitespace=False,
        help_text="The value of the record, such as an address or a full host name, up to 4096 characters. "
        "In A and AAAA records, `[remote_addr]` is replaced by the address of the client.",
    )
    priority = IntegerField(
        min_value=0,
        max_value=255,
        required=False,
        help_text="The priority of an MX or SRV record, 0 to 255. The smallest comes first.",
    )
    weight = IntegerField(
        min_value=0,
        max_value=65535,
        required=False,
        help_text="The weight among SRV records of the same priority, 0 to 65535.",
    )
    port = IntegerField(
        min_value=0, max_value=65535, required=False, help_text="The port of an SRV record, 0 to 65535."
    )
    service: Field = as_sent("service", "The service of an SRV record, such as `sip`. Null for other records.")
    protocol: Field = as_sent(
        "protocol",
        "The protocol of an SRV record, such as `tcp`. Null for other records. If missing, the zone has `_tcp`.",
    )
    ttl_sec = times("The time to live of answers in seconds. 0, the default, means the value of the domain.")
    tag = ChoiceField(
        DomainRecord.Tag.choices,
        required=False,
        allow_null=True,
        help_text=Meanings(
            "The tag of a CAA record. Null for other records.",
            {
                "issue": "The authorities that may issue certificates.",
                "issuewild": "The authorities that may issue wildcard certificates.",
                "iodef": "The address for reports of misuse.",
                "null": "The record is not a CAA record.",
            },
        ),
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)


class RecordRequest(RecordResource):
    """The body of a record. Write host names in `target` in full: the domain is appended only to a single label of
    an SRV record."""

    service = CharField(required=False, allow_null=True, max_length=64)
    protocol = CharField(required=False, allow_null=True, max_length=64)
