"""Volumes, as an instance lists those that are attached to it."""

from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.models import Volume
from config.api.access import READ_ONLY
from config.api.fields import Computed
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

LARGEST = 10240


def filesystem_path(label: str) -> str:
    """Where the guest finds the volume."""
    return f"/dev/disk/by-id/scsi-0Skerry_Volume_{label}"


class VolumeResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=32)
    filesystem_path = Computed(CharField(), filesystem_path, "label")
    status = ChoiceField(Volume.Status.choices, read_only=True)
    size = IntegerField(max_value=LARGEST, help_text="GB.")
    region = CharField(source="region_id")
    compute_id = IntegerField(source="instance_id", allow_null=True)
    compute_label = CharField(source="instance.label", read_only=True, allow_null=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    tags = ListField(child=CharField())
    hardware_type = ChoiceField(Volume.Hardware.choices, read_only=True)

    class Meta:
        filterable = ("label", "tags")


class InstanceVolumeViewSet(ResourceViewSet[Actor, Volume]):
    """The volumes attached to an instance, of those that the caller may see."""

    resource = VolumeResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor, path):
        return Volume.objects.visible_to(actor).filter(instance__in=its_instance(actor, path).values("pk"))
