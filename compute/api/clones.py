"""Cloning an instance."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, IntegerField, ListField

from accounts.actors import Actor
from compute.api.instances import WRITE
from compute.api.resources import InstanceResource, LabelField
from compute.models import Instance
from compute.services.instances.clones import CloneSpec, clone
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class CloneRequest(Resource):
    """The body of a clone. Without `compute_id` it makes a new instance, by default like the source."""

    region = CharField(required=False)
    type = CharField(required=False)
    compute_id = IntegerField(required=False)
    label = LabelField(required=False)
    group = CharField(max_length=50, allow_blank=True, required=False)
    backups_enabled = BooleanField(required=False)
    disks = ListField(child=IntegerField(), required=False)
    configs = ListField(child=IntegerField(), required=False)


class CloneViewSet(ResourceViewSet[Actor, Instance]):
    """Clones of an instance."""

    resource = InstanceResource
    requests = {"clone": CloneRequest}
    responses = {"clone": InstanceResource}
    scopes = {"clone": WRITE}
    grants = {"clone": "add_computes"}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
        return Instance.objects.visible_to(actor)

    def clone(self, request: Request, id: int) -> JSONResponse:
        """Clone an instance into a new one, or with `compute_id` into one that is there.

        Copies all configuration profiles and the disks in their slots, unless `configs` names some; `disks` names
        further disks. The instance shows `cloning` and its target `provisioning` until that is done. Five clones of
        an instance may run at once.
        """
        given: dict[str, Any] = self.validated()
        return self.answer(clone(self.actor, self.get_entity(), CloneSpec(**given)))
