"""VLANs on the wire."""

from rest_framework.serializers import CharField, DateTimeField, IntegerField, ListField

from config.api.serializers import Resource


class VLANResource(Resource):
    """A private network between instances of a region."""

    label = CharField(read_only=True, help_text="Its name, which profiles give it.")
    region = CharField(source="region_id", read_only=True)
    computes = ListField(
        child=IntegerField(),
        source="on_it",
        read_only=True,
        help_text="The instances on it, of those that the caller may see.",
    )
    created = DateTimeField(read_only=True, help_text="When a profile first named it, in UTC.")
