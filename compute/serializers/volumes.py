"""Serializers of volumes, and the bodies of requests about them."""

import re
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField, ListField

from compute.models import Volume
from compute.services.volumes.volumes import MAX_SIZE, MIN_SIZE, WRONG_SIZE, VolumeSpec
from config.api.common_fields import IdField
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.serializers import Positions, Resource

LETTER, LABEL = re.compile("[a-zA-Z]"), re.compile("((?!--|__)[a-zA-Z0-9_-])*")


class LabelField(CharField):
    """A text that begins with a letter, then letters, digits, dashes and underscores, with no two dashes or
    underscores in a row."""

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
    """Return the path of the volume's device in the guest."""
    return f"/dev/disk/by-id/scsi-0Skerry_Volume_{label}"


class VolumeResource(Resource):
    """Block storage that instances attach."""

    id = IntegerField(read_only=True)
    label = LabelField(
        help_text="A name for the volume: up to 32 letters, digits, `-` and `_`. It begins with a letter."
    )
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
            "The status of the volume.",
            {
                "creating": "The volume is being created.",
                "active": "The volume can be used.",
                "resizing": "The volume is being resized.",
            },
        ),
    )
    size = IntegerField(max_value=MAX_SIZE, help_text="The size in GB, up to 10240.")
    region = CharField(source="region_id")
    compute_id = IntegerField(
        source="instance_id",
        allow_null=True,
        help_text="The id of the instance that the volume is attached to. Null if detached.",
    )
    compute_label = CharField(
        source="instance.label",
        read_only=True,
        allow_null=True,
        help_text="The label of this instance. Null if detached.",
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    tags = ListField(child=CharField())
    hardware_type = ChoiceField(
        Volume.Hardware.choices,
        read_only=True,
        help_text=Meanings(
            "The storage of the volume.",
            {
                "hdd": "Hard disks.",
                "nvme": "Flash memory.",
            },
        ),
    )


class VolumeCreate(Resource):
    """The body of a new volume. `region` is required unless the volume is attached to the instance `compute_id`."""

    label = LabelField(
        help_text="A name for the volume: up to 32 letters, digits, `-` and `_`. It begins with a letter."
    )
    size = IntegerField(
        min_value=MIN_SIZE,
        max_value=MAX_SIZE,
        default=20,
        help_text="The size in GB, 10 to 10240. By default 20.",
        error_messages={"min_value": WRONG_SIZE, "max_value": WRONG_SIZE},
    )
    region = CharField(required=False, help_text="The region of the volume. Required without `compute_id`.")
    compute_id = IdField(required=False, help_text="An instance to attach the volume to.")
    config_id = IdField(
        required=False,
        help_text="The instance's configuration profile that the volume is added to. By default the "
        "profile of the next boot.",
    )
    tags = ListField(child=CharField(), required=False)


class VolumeUpdate(Resource):
    """New label and tags of a volume. Other fields are accepted and have no effect, because clients send back
    complete answers."""

    UNCHANGED = ("region", "size", "compute_id")

    label = LabelField(required=False)
    tags = ListField(child=CharField(), required=False)
    region = CharField(required=False, help_text="Has no effect.")
    size = IntegerField(max_value=MAX_SIZE, required=False, help_text="Has no effect. Use the resize operation.")
    compute_id = IntegerField(
        allow_null=True, required=False, help_text="Has no effect. Use the attach and detach operations."
    )

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
        max_value=MAX_SIZE,
        help_text="The new size in GB: larger than the current size, up to 10240.",
        error_messages={"max_value": f"Storage volumes cannot be resized larger than {MAX_SIZE} gigabytes"},
    )


class VolumeAttach(Resource):
    """The body of an attachment. By default, `config_id` is the profile that boots next."""

    compute_id = IdField(help_text="The instance to attach the volume to, in the same region.")
    config_id = IdField(
        required=False,
        help_text="The configuration profile that the volume is added to. By default the profile of the next boot.",
    )
    persist_across_boots = BooleanField(
        required=False,
        default=True,
        help_text="Whether the volume is added to a configuration profile, so that it is attached after "
        "the next boot. By default true.",
    )


def spec_of(given: Mapping[str, Any]) -> VolumeSpec:
    """Return the spec for the service, from the valid fields of a body."""
    return VolumeSpec(**{**given, "label": given.get("label"), "tags": tuple(given.get("tags", ()))})


def changes_of(given: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...] | None]:
    """Return the columns and the tags that the service changes, from the valid fields of a body.

    The tags are None if the body has none.
    """
    tags = given.pop("tags", None)
    return given, None if tags is None else tuple(tags)
