"""Serializers of VLANs."""

from rest_framework.serializers import CharField, DateTimeField, IntegerField, ListField

from config.api.serializers import Resource


class VLANResource(Resource):
    """A private network between instances of a region."""

    label = CharField(
        read_only=True, help_text="The label of the VLAN. Interfaces of configuration profiles have the same label."
    )
    region = CharField(source="region_id", read_only=True)
    computes = ListField(
        child=IntegerField(),
        source="on_it",
        read_only=True,
        help_text="The instances on the VLAN that the caller may see.",
    )
    created = DateTimeField(
        read_only=True, help_text="The time at which a configuration profile first named the VLAN, in UTC."
    )
