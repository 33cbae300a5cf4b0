"""What regions look like on the wire."""

from rest_framework.serializers import CharField, ChoiceField, ListField

from config.api.serializers import Resource
from regions.models import Region


class Resolvers(Resource):
    ipv4 = CharField(source="resolvers_ipv4", help_text="Comma-separated addresses.")
    ipv6 = CharField(source="resolvers_ipv6", help_text="Comma-separated addresses.")


class RegionResource(Resource):
    id = CharField()
    country = CharField(help_text="ISO 3166 code, in lower case.")
    capabilities = ListField(child=CharField())
    status = ChoiceField(Region.Status.choices)
    resolvers = Resolvers(source="*")

    class Meta:
        read_only = True
        filterable = ("id", "country", "capabilities", "status")
