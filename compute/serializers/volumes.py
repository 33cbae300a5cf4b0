"""Volumes on the wire, and the bodies of requests about them."""

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
    size = IntegerField(max_value=MAX_SIZE, help_text="GB, up to 10240.")
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
    """The body of a new volume. `region` is required unless the volume is attached to the instance `compute_id`."""

    label = LabelField(help_text="A name for it: up to 32 letters, digits, `-` and `_`, the first one a letter.")
    size = IntegerField(
        min_value=MIN_SIZE,
        max_value=MAX_SIZE,
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
    """New label and tags of a volume. Other fields are accepted, because clients send back complete answers, and
    have no effect."""

    UNCHANGED = ("region", "size", "compute_id")

    label = LabelField(required=False)
    tags = ListField(child=CharField(), required=False)
    region = CharField(required=False, help_text="Has no effect.")
    size = IntegerField(max_value=MAX_SIZE, required=False, help_text="Has no effect: see the resize.")
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
        max_value=MAX_SIZE,
        help_text="GB: more than it has, up to 10240.",
        error_messages={"max_value": f"Storage volumes cannot be resized larger than {MAX_SIZE} gigabytes"},
    )


class VolumeAttach(Resource):
    """The body of an attachment. By default, `config_id` is the profile that boots next."""

    compute_id = IdField(help_text="The instance to attach it to, in its region.")
    config_id = IdField(
        required=False, help_text="The profile that is to have it; by default the one that boots next."
    )
    persist_across_boots = BooleanField(
        required=False,
        default=True,
        help_text="Whether a profile has it, so that it is there after the next boot. By default true.",
    )


def spec_of(given: Mapping[str, Any]) -> VolumeSpec:
    """Return the spec that the service takes, from the good fields of a body."""
    return VolumeSpec(**{**given, "label": given.get("label"), "tags": tuple(given.get("tags", ()))})


def changes_of(given: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...] | None]:
    """Return the columns and the tags that the service changes, from the good fields of a body.

    The tags are None if the body has none.
    """
    tags = given.pop("tags", None)
    return given, None if tags is None else tuple(tags)
