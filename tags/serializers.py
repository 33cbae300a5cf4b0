"""Serializers of tags."""

from rest_framework.serializers import CharField, ChoiceField, DictField, ListField

from config.api.common_fields import IdField
from config.api.meanings import Meanings
from config.api.serializers import Resource
from tags.services import MAX_LABEL_LENGTH, MIN_LABEL_LENGTH

KINDS = ("compute", "domain", "volume", "nodebalancer")


class TagResource(Resource):
    """A label on objects."""

    label = CharField(
        min_length=MIN_LABEL_LENGTH,
        max_length=MAX_LABEL_LENGTH,
        help_text="The tag: 3 to 50 characters. Case matters.",
    )


def ids(kind: str) -> ListField:
    about = f"The ids of the {kind}s that get the tag."
    return ListField(child=IdField(min_value=1), required=False, help_text=about)


class NewTag(TagResource):
    """The body of a new tag."""

    computes = ids("compute")
    domains = ids("domain")
    volumes = ids("volume")
    nodebalancers = ids("nodebalancer")


class TaggedResource(Resource):
    """An object that carries the tag."""

    type = ChoiceField(
        KINDS,
        source="entity_type",
        help_text=Meanings(
            "The kind of the entity.",
            {
                "compute": "An instance.",
                "domain": "A domain.",
                "volume": "A volume.",
                "nodebalancer": "A load balancer.",
            },
        ),
    )
    data = DictField(help_text="The object, as the operation of its kind shows it.")

    class Meta:
        read_only = True
