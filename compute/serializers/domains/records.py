"""Records of domains on the wire."""

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
            "What the record says; cannot be changed.",
            {
                "A": "The IPv4 address of a name.",
                "AAAA": "The IPv6 address of a name.",
                "NS": "The name server of a name.",
                "MX": "The mail server of a name.",
                "CNAME": "Another name for a name.",
                "TXT": "A text.",
                "SRV": "Where a service is.",
                "PTR": "The name of an address.",
                "CAA": "Who may issue certificates.",
            },
        ),
    )
    name = CharField(
        min_length=1,
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="The name of the record, in full or relative to the domain; empty for the domain itself. The "
        "name of an SRV record begins with its service and protocol: `_sip._tcp`.",
    )
    # the spaces around a text are part of it; around other targets, the service takes them off
    target = CharField(
        required=False,
        allow_blank=True,
        max_length=4096,
        trim_whitespace=False,
        help_text="The value of the record, such as an address or a host name in full; up to 4096 characters. In "
        "A and AAAA records, `[remote_addr]` stands for the address that the request comes from.",
    )
    priority = IntegerField(
        min_value=0,
        max_value=255,
        required=False,
        help_text="Which is asked first: the smallest. Of MX and SRV, 0 to 255.",
    )
    weight = IntegerField(
        min_value=0,
        max_value=65535,
        required=False,
        help_text="The share among SRV records of the same priority, 0 to 65535.",
    )
    port = IntegerField(
        min_value=0, max_value=65535, required=False, help_text="The port of an SRV record, 0 to 65535."
    )
    service: Field = as_sent("service", "The service of an SRV record, such as `sip`; null of others.")
    protocol: Field = as_sent(
        "protocol",
        "The protocol of an SRV record, such as `tcp`; null of others. Without it the zone serves `_tcp`.",
    )
    ttl_sec = times("Seconds for which answers may be kept; 0, the default, is as the domain has it.")
    tag = ChoiceField(
        DomainRecord.Tag.choices,
        required=False,
        allow_null=True,
        help_text=Meanings(
            "What a CAA record is about; null of others.",
            {
                "issue": "Who may issue certificates.",
                "issuewild": "Who may issue certificates for all names below.",
                "iodef": "Where to report misuse to.",
                "null": "It is no CAA record.",
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
