"""Serializers of disks, and the fields of every body that deploys an image."""

from collections.abc import Mapping
from typing import Any

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    ListField,
)

from compute.models import Disk
from config.api.common_fields import IdField
from config.api.fields import PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource

MAX_INTEGER = 2**31 - 1

FILESYSTEMS_MEAN = {
    "raw": "Any content. The platform does not read it.",
    "swap": "Swap space.",
    "ext3": "An older file system of Linux.",
    "ext4": "The file system that images are deployed with.",
    "initrd": "A first root file system, for kernels.",
}


class DeployRequest(Resource):
    """Values for a disk that an image is deployed to."""

    image = PlatformTextField(
        required=False, help_text="The image to deploy (`GET /images`). Without an image, the disk is empty."
    )
    root_pass = CharField(
        min_length=7,
        max_length=128,
        trim_whitespace=False,
        required=False,
        write_only=True,
        help_text="The password of root, 7 to 128 characters. It must be strong. Required with `image`.",
    )
    authorized_keys = ListField(
        child=CharField(), required=False, write_only=True, help_text="Public SSH keys for root."
    )
    authorized_users = ListField(
        child=CharField(),
        required=False,
        write_only=True,
        help_text="Usernames of the account, whose SSH keys are added for root.",
    )
    stackscript_id = IdField(
        required=False, help_text="A StackScript that runs at the first boot. Its images must include `image`."
    )
    stackscript_data = DictField(
        required=False, write_only=True, help_text="The values of the StackScript's fields, by name."
    )


class DiskResource(Resource):
    """A disk of an instance."""

    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=48, help_text="A name for the disk, up to 48 characters.")
    status = ChoiceField(
        Disk.Status.choices,
        read_only=True,
        help_text=Meanings(
            "The status of the disk.",
            {
                "ready": "The disk can be used.",
                "not ready": "A job changes the disk.",
                "deleting": "The disk is being deleted.",
            },
        ),
    )
    size = IntegerField(min_value=1, max_value=MAX_INTEGER, help_text="MB.")
    filesystem = ChoiceField(
        Disk.Filesystem.choices,
        help_text=Meanings("The content of the disk, as its creator declared it.", FILESYSTEMS_MEAN),
    )
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)


class DiskCreate(DeployRequest):
    """The body of a new disk: empty, or deployed from `image`."""

    size = IntegerField(
        min_value=1,
        max_value=MAX_INTEGER,
        help_text="The size in MB. All disks of an instance together can have at most the type's `disk`.",
    )
    label = CharField(
        min_length=1,
        max_length=48,
        required=False,
        help_text="A name for the disk. The default depends on its image or file system.",
    )  # type: ignore[assignment] # mypy looks past `Resource`, which is no direct base
    filesystem = ChoiceField(
        Disk.Filesystem.choices,
        required=False,
        help_text=Meanings("The content of the new disk. By default `ext4`.", FILESYSTEMS_MEAN),
    )

    class Meta:
        as_in = (DiskResource,)


class DiskResize(Resource):
    """The body of a resize."""

    size = IntegerField(min_value=1, max_value=MAX_INTEGER, help_text="The new size in MB.")


class DiskPassword(Resource):
    """The body of a new root password for a disk."""

    password = CharField(
        trim_whitespace=False, write_only=True, help_text="The new password of root. It must be strong."
    )


def spec_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given fields of a body for a spec, with tuples in place of lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
