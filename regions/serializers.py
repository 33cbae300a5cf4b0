"""Serializers of regions."""

from rest_framework.serializers import CharField, ChoiceField, ListField

from config.api.fields import PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource
from regions.models import Region


class Resolvers(Resource):
    """Name servers of a region."""

    ipv4 = CharField(source="resolvers_ipv4", help_text="Their IPv4 addresses, separated by commas.")
    ipv6 = CharField(source="resolvers_ipv6", help_text="Their IPv6 addresses, separated by commas.")


class RegionResource(Resource):
    """A place where services are offered."""

    id = CharField(help_text="Its name in requests, such as `us-east`.")
    country = CharField(help_text="The country, as the two letters of ISO 3166, in lower case.")
    capabilities = ListField(child=PlatformTextField(), help_text="What is offered there, by name.")
    status = ChoiceField(
        Region.Status.choices,
        help_text=Meanings(
            "Whether all is well.",
            {
                "ok": "It is.",
                "outage": "Something may not work.",
            },
        ),
    )
    resolvers = Resolvers(source="*", help_text="The name servers that instances there use.")

    class Meta:
        read_only = True
