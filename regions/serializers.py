"""Serializers of regions."""

from rest_framework.serializers import CharField, ChoiceField, ListField

from config.api.fields import PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource
from regions.models import Region


class Resolvers(Resource):
    """Name servers of a region."""

    ipv4 = CharField(
        source="resolvers_ipv4", help_text="The IPv4 addresses of the name servers, separated by commas."
    )
    ipv6 = CharField(
        source="resolvers_ipv6", help_text="The IPv6 addresses of the name servers, separated by commas."
    )


class RegionResource(Resource):
    """A place where services are offered."""

    id = CharField(help_text="The id of the region for requests, such as `us-east`.")
    country = CharField(help_text="The country, as two letters of ISO 3166 in lower case.")
    capabilities = ListField(child=PlatformTextField(), help_text="The names of the features of the region.")
    status = ChoiceField(
        Region.Status.choices,
        help_text=Meanings(
            "The status of the region.",
            {
                "ok": "The region works.",
                "outage": "Services of the region may not work.",
            },
        ),
    )
    resolvers = Resolvers(source="*", help_text="The name servers for instances of the region.")

    class Meta:
        read_only = True
