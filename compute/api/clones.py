"""Cloning an instance."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ListField

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.api.resources import InstanceResource, LabelField
from compute.models import Instance
from compute.services.instances.clones import CloneSpec, clone
from config.api.common_fields import IdField
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import GenericViewSet


class CloneRequest(Resource):
    """The body of a clone. Without `compute_id` it makes a new instance, by default like the source."""

    region = CharField(required=False, help_text="The region of the new instance; by default the source's.")
    type = CharField(required=False, help_text="The type of the new instance; by default the source's.")
    compute_id = IdField(required=False, help_text="An instance to clone into, in place of a new one.")
    label = LabelField(required=False, help_text="The new instance's label; by default one that is free.")
    group = CharField(max_length=50, allow_blank=True, required=False, help_text="The new instance's group.")
    backups_enabled = BooleanField(
        required=False,
        help_text="Whether the new instance has backups. By default false, unless the account's "
        "setting says otherwise.",
    )
    disks = ListField(
        child=IdField(), required=False, help_text="Disks to copy beside those that the profiles name."
    )
    configs = ListField(
        child=IdField(),
        required=False,
        help_text="Profiles to copy, with the disks they name; by default all but a rescue's.",
    )


class CloneViewSet(GenericViewSet[Actor, Instance]):
    """Clones of an instance."""

    serializer_class = InstanceResource
    queryset = Instance.objects.all()

    @action(detail=True, methods=["post"])
    @operation(WRITE, "add_computes", request=CloneRequest, response=InstanceResource)
    def clone(self, request: Request, id: int) -> Response:
        """Clone an instance into a new one, or with `compute_id` into one that is there.

        Copies all configuration profiles and the disks in their slots, unless `configs` names some; `disks` names
        further disks. The instance shows `cloning` and its target `provisioning` until that is done. Five clones of
        an instance may run at once.
        """
        source, given = self.get_object(), self.body()
        return Response(self.get_serializer(clone(self.actor, source, CloneSpec(**given), given.problems)).data)
