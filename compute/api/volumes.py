"""Volumes: those of the account, and those that an instance lists as attached to it."""

import re
from typing import Any

from django.db.models import BigIntegerField, QuerySet
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.api.nested import its_instance
from compute.models import Volume
from compute.services.volumes import volumes
from compute.services.volumes.volumes import Place, VolumeSpec
from config.api.access import READ_ONLY, READ_WRITE
from config.api.fields import Computed
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

LARGEST = 10240
LABEL = r"[a-zA-Z]((?!--|__)[a-zA-Z0-9-_])+"
READ = "volumes:read_only"
WRITE = "volumes:read_write"
BOTH = (WRITE, "computes:read_write")


class LabelField(CharField):
    """A letter, then letters, digits, dashes and underscores with no two dashes or underscores in a row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=1, max_length=32, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not re.fullmatch(LABEL, value, re.ASCII):
            self.fail("invalid")
        return value


def filesystem_path(label: str) -> str:
    """Where the guest finds the volume."""
    return f"/dev/disk/by-id/scsi-0Skerry_Volume_{label}"


class VolumeResource(Resource):
    id = IntegerField(read_only=True)
    label = LabelField()
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


def number() -> IntegerField:
    return IntegerField(required=False, allow_null=True, max_value=BigIntegerField.MAX_BIGINT)


class VolumeCreate(Resource):
    """The body of a new volume. `region` is needed unless `compute_id` says where it is attached."""

    label = LabelField()
    size = IntegerField(min_value=1, max_value=LARGEST, default=20, help_text="GB.")
    region = CharField(required=False, allow_null=True)
    compute_id = number()
    config_id = number()
    tags = ListField(child=CharField(), required=False)


class VolumeUpdate(Resource):
    """What can be changed: label and tags. The rest is there because clients send back what they got."""

    UNCHANGED = ("region", "size", "compute_id")

    label = LabelField(required=False)
    tags = ListField(child=CharField(), required=False)
    region = CharField(required=False, help_text="Has no effect.")
    size = IntegerField(max_value=LARGEST, required=False, help_text="Has no effect: see the resize.")
    compute_id = IntegerField(allow_null=True, required=False, help_text="Has no effect: see attach and detach.")

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            data = {name: value for name, value in data.items() if name not in self.UNCHANGED}
        return super().to_internal_value(data)


class VolumeClone(Resource):
    """The body of a clone."""

    label = LabelField()


class VolumeResize(Resource):
    """The body of a resize."""

    size = IntegerField(min_value=1, max_value=LARGEST, help_text="GB, more than it has.")


class VolumeAttach(Resource):
    """The body of an attachment. `config_id` is by default the profile that boots next."""

    compute_id = IntegerField(max_value=BigIntegerField.MAX_BIGINT)
    config_id = number()
    persist_across_boots = BooleanField(required=False, default=True)


class VolumeViewSet(ResourceViewSet[Actor, Volume]):
    """Volumes: block storage of its own that instances attach."""

    resource = VolumeResource
    requests = {
        "create": VolumeCreate,
        "update": VolumeUpdate,
        "clone": VolumeClone,
        "resize": VolumeResize,
        "attach": VolumeAttach,
    }
    responses = {"clone": VolumeResource, "resize": VolumeResource, "attach": VolumeResource}
    scopes = {
        "list": READ,
        "retrieve": READ,
        "create": WRITE,
        "update": WRITE,
        "destroy": WRITE,
        "clone": WRITE,
        "resize": WRITE,
        "attach": BOTH,
        "detach": BOTH,
    }
    grants = {
        "list": READ_ONLY,
        "retrieve": READ_ONLY,
        "create": "add_volumes",
        "update": READ_WRITE,
        "destroy": READ_WRITE,
        "clone": "add_volumes",
        "resize": READ_WRITE,
        "attach": READ_WRITE,
        "detach": READ_WRITE,
    }

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Volume]:
        return Volume.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Create a volume, in a region or attached to an instance of it. Follow the event `volume_create`.

        Attached, it is also in the profile `config_id`, by default the one that the instance boots next; a running
        one has it at once.
        """
        given: dict[str, Any] = {name: value for name, value in self.validated().items() if value is not None}
        spec = VolumeSpec(
            label=given["label"],
            size=given["size"],
            region=given.get("region"),
            compute_id=given.get("compute_id"),
            config_id=given.get("config_id"),
            tags=tuple(given.get("tags", ())),
        )
        return self.answer(volumes.create(self.actor, spec))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change label and tags. A running instance finds it by its new path from its next boot on."""
        given: dict[str, Any] = self.validated(partial=True)
        tags = given.pop("tags", None)
        changed = volumes.update(self.actor, self.get_entity(), given, None if tags is None else tuple(tags))
        return self.answer(changed)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a volume that is attached nowhere. Cannot be undone."""
        volumes.delete(self.actor, self.get_entity())
        return JSONResponse()

    def clone(self, request: Request, id: int) -> JSONResponse:
        """Copy an active volume, byte for byte, into a new one of the same size and region."""
        return self.answer(volumes.clone(self.actor, self.get_entity(), self.validated()["label"]))

    def resize(self, request: Request, id: int) -> JSONResponse:
        """Let an active volume grow, attached or not. It shows `resizing`, and its new size when that is true."""
        return self.answer(volumes.resize(self.actor, self.get_entity(), self.validated()["size"]))

    def attach(self, request: Request, id: int) -> JSONResponse:
        """Attach a volume to an instance of its region, running or not.

        It goes into a free slot of the profile `config_id`, by default the one that boots next; a running instance
        has it at once. With `persist_across_boots` false it is in no profile, and the next boot is without it.
        """
        given: dict[str, Any] = {name: value for name, value in self.validated().items() if value is not None}
        return self.answer(volumes.attach(self.actor, self.get_entity(), Place(**given)))

    def detach(self, request: Request, id: int) -> JSONResponse:
        """Take a volume from its instance, running or not, and out of its profiles. Unmount it first.

        Follow the event `volume_detach`: until it ends, the volume shows where it was.
        """
        volumes.detach(self.actor, self.get_entity())
        return JSONResponse()


class InstanceVolumeViewSet(ResourceViewSet[Actor, Volume]):
    """The volumes attached to an instance, of those that the caller may see."""

    resource = VolumeResource
    scopes = {"list": "computes:read_only"}
    grants = {"list": READ_ONLY}
    parent = staticmethod(its_instance)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Volume]:
        return Volume.objects.visible_to(actor).filter(instance__in=its_instance(actor, path).values("pk"))
