"""Volumes: those of the account, and those that an instance lists as attached to it."""

import re
from typing import Any

from django.db.models import QuerySet
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.api.nested import OfInstance
from compute.filters.volumes import VolumeFilterSet
from compute.models import Volume
from compute.services.volumes import volumes
from compute.services.volumes.places import Place
from compute.services.volumes.volumes import LARGEST, SMALLEST, WRONG_SIZE, VolumeSpec
from config.api.access import READ_ONLY, READ_WRITE
from config.api.common_fields import IdField
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.serializers import Positions, Resource
from config.api.views import ListViewSet, ReadOnlyModelViewSet

LETTER, LABEL = re.compile("[a-zA-Z]"), re.compile("((?!--|__)[a-zA-Z0-9_-])*")
READ = "volumes:read_only"
WRITE = "volumes:read_write"
BOTH = (WRITE, "computes:read_write")


class LabelField(CharField):
    """A letter, then letters, digits, dashes and underscores with no two dashes or underscores in a row."""

    def __init__(self, **kwargs: Any):
        super().__init__(min_length=1, max_length=32, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if value and not LETTER.match(value):
            raise ValidationError("Must begin with a letter")
        if not LABEL.fullmatch(value):
            raise ValidationError("Must have letters, digits, - and _ only, and neither - nor _ twice in a row")
        return value


def filesystem_path(label: str) -> str:
    """Where the guest finds the volume."""
    return f"/dev/disk/by-id/scsi-0Skerry_Volume_{label}"


class VolumeResource(Resource):
    """Block storage that instances attach."""

    id = IntegerField(read_only=True)
    label = LabelField(help_text="A name for it: up to 32 letters, digits, `-` and `_`, the first one a letter.")
    filesystem_path = Computed(
        CharField(),
        filesystem_path,
        "label",
        ordered_by="label",
        help_text="The path of the volume's device in the guest.",
    )
    status = ChoiceField(
        Volume.Status.choices,
        read_only=True,
        help_text=Meanings(
            "What is done with it.",
            {
                "creating": "It is being made.",
                "active": "Nothing: it can be used.",
                "resizing": "It grows.",
            },
        ),
    )
    size = IntegerField(max_value=LARGEST, help_text="GB, up to 10240.")
    region = CharField(source="region_id")
    compute_id = IntegerField(
        source="instance_id", allow_null=True, help_text="The instance that it is attached to; null without."
    )
    compute_label = CharField(
        source="instance.label", read_only=True, allow_null=True, help_text="That instance's label; null without."
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    tags = ListField(child=CharField())
    hardware_type = ChoiceField(
        Volume.Hardware.choices,
        read_only=True,
        help_text=Meanings(
            "What it is kept on.",
            {
                "hdd": "Disks.",
                "nvme": "Flash memory.",
            },
        ),
    )


class VolumeCreate(Resource):
    """The body of a new volume. `region` is needed unless `compute_id` says where it is attached."""

    label = LabelField(help_text="A name for it: up to 32 letters, digits, `-` and `_`, the first one a letter.")
    size = IntegerField(
        min_value=SMALLEST,
        max_value=LARGEST,
        default=20,
        help_text="GB, 10 to 10240; by default 20.",
        error_messages={"min_value": WRONG_SIZE, "max_value": WRONG_SIZE},
    )
    region = CharField(required=False, help_text="The region it is to be in; needed unless `compute_id` is given.")
    compute_id = IdField(required=False, help_text="An instance to attach it to.")
    config_id = IdField(
        required=False,
        help_text="The profile of the instance that is to have it; by default the one that boots next.",
    )
    tags = ListField(child=CharField(), required=False)


class VolumeUpdate(Resource):
    """What can be changed: label and tags. The rest is there because clients send back what they got."""

    UNCHANGED = ("region", "size", "compute_id")

    label = LabelField(required=False)
    tags = ListField(child=CharField(), required=False)
    region = CharField(required=False, help_text="Has no effect.")
    size = IntegerField(max_value=LARGEST, required=False, help_text="Has no effect: see the resize.")
    compute_id = IntegerField(allow_null=True, required=False, help_text="Has no effect: see attach and detach.")

    def examine(
        self, data: dict[str, Any], positions: Positions | None = None, path: str = ""
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        looked_at = {name: value for name, value in data.items() if name not in self.UNCHANGED}
        return super().examine(looked_at, positions, path)

    class Meta:
        as_in = (VolumeResource,)


class VolumeClone(Resource):
    """The body of a clone."""

    label = LabelField(help_text="A name for the copy.")


class VolumeResize(Resource):
    """The body of a resize."""

    size = IntegerField(
        max_value=LARGEST,
        help_text="GB: more than it has, up to 10240.",
        error_messages={"max_value": f"Storage volumes cannot be resized larger than {LARGEST} gigabytes"},
    )


class VolumeAttach(Resource):
    """The body of an attachment. `config_id` is by default the profile that boots next."""

    compute_id = IdField(help_text="The instance to attach it to, in its region.")
    config_id = IdField(
        required=False, help_text="The profile that is to have it; by default the one that boots next."
    )
    persist_across_boots = BooleanField(
        required=False,
        default=True,
        help_text="Whether a profile has it, so that it is there after the next boot. By default true.",
    )


class VolumeViewSet(ReadOnlyModelViewSet[Actor, Volume]):
    """Volumes: block storage of its own that instances attach."""

    serializer_class = VolumeResource
    filterset_class = VolumeFilterSet
    queryset = Volume.objects.all()
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_volumes", request=VolumeCreate)
    def create(self, request: Request) -> Response:
        """Create a volume, in a region or attached to an instance of it. Follow the event `volume_create`.

        Attached, it is also in the profile `config_id`, by default the one that the instance boots next. That
        may be busy: the volume is plugged in when it is not.
        """
        given = self.body()
        fields = {**given, "label": given.get("label"), "tags": tuple(given.get("tags", ()))}
        return Response(self.get_serializer(volumes.create(self.actor, VolumeSpec(**fields), given.problems)).data)

    @operation(WRITE, READ_WRITE, request=VolumeUpdate)
    def update(self, request: Request, id: int) -> Response:
        """Change label and tags. A running instance finds it by its new path from its next boot on."""
        volume, given = self.get_object(), self.body(partial=True)
        tags = given.pop("tags", None)
        tags = None if tags is None else tuple(tags)
        return Response(self.get_serializer(volumes.update(self.actor, volume, given, tags, given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a volume, which is detached first where its compute is off. Cannot be undone."""
        volumes.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, "add_volumes", request=VolumeClone, response=VolumeResource)
    def clone(self, request: Request, id: int) -> Response:
        """Copy an active volume, byte for byte, into a new one of the same size and region.

        Follow the event `volume_clone`; the copy is `creating` until then.
        """
        volume, given = self.get_object(), self.body()
        made = volumes.clone(self.actor, volume, given.get("label"), given.problems)
        return Response(self.get_serializer(made).data)

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=VolumeResize, response=VolumeResource)
    def resize(self, request: Request, id: int) -> Response:
        """Let an active volume grow, attached or not. It shows its new size at once, with `resizing`."""
        volume, given = self.get_object(), self.body()
        changed = volumes.resize(self.actor, volume, given.get("size"), given.problems)
        return Response(self.get_serializer(changed).data)

    @action(detail=True, methods=["post"])
    @operation(BOTH, READ_WRITE, request=VolumeAttach, response=VolumeResource)
    def attach(self, request: Request, id: int) -> Response:
        """Attach a volume to an instance of its region, running or not.

        It goes into a free slot of the profile `config_id`, by default the one that boots next; a running instance
        has it as soon as the volume is made, resized or detached from where it was. With `persist_across_boots`
        false it is in no profile, and the next boot is without it.
        """
        volume, given = self.get_object(), self.body()
        changed = volumes.attach(self.actor, volume, Place(**given), given.problems)
        return Response(self.get_serializer(changed).data)

    @action(detail=True, methods=["post"])
    @operation(BOTH, READ_WRITE)
    def detach(self, request: Request, id: int) -> Response:
        """Take a volume from its instance, running or not, and out of its profiles. Unmount it first.

        Follow the event `volume_detach`: should that fail, the volume shows again where it is.
        """
        volumes.detach(self.actor, self.get_object())
        return Response({})


class InstanceVolumeViewSet(OfInstance, ListViewSet[Actor, Volume]):
    """The volumes attached to an instance, of those that the caller may see."""

    serializer_class = VolumeResource
    filterset_class = VolumeFilterSet
    required_scopes = "computes:read_only"
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[Volume]:
        return Volume.objects.visible_to(self.viewer).filter(instance__in=self.get_parent_queryset().values("pk"))
