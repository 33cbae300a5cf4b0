"""Images on the wire, and the bodies of requests about them."""

from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, Field, IntegerField

from compute.models import Image
from config import word
from config.api.common_fields import IdField
from config.api.fields import Computed, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource

STATUSES = [status for status in Image.Status if status != Image.Status.DELETING]


def creator(username: str | None, is_public: bool) -> str | None:
    """Return the creator of an image. The creator of public images is the platform, by its word (`config.word`)."""
    return word.on_wire(username) if username and is_public else username


def creator_field() -> Field:
    """Return the field of the creator. Without a word of the installation, it is a plain column."""
    about = "The user who made the image; `compute` for public images."
    if not word.IS_SET:
        return CharField(read_only=True, allow_null=True, help_text=about)
    child = CharField(allow_null=True)
    return Computed(child, creator, "created_by", "is_public", ordered_by="created_by", help_text=about)


class ImageResource(Resource):
    """A template of disks."""

    id = PlatformTextField(
        read_only=True,
        help_text="Its name in requests: `compute/…` of the platform's, `private/` and a number of the account's.",
    )
    label = CharField(help_text="A name for it.")
    description = Computed(
        CharField(allow_null=True),
        lambda text: text or "",
        "description",
        ordered_by="description",
        help_text="A description; empty if there is none.",
    )
    vendor = CharField(read_only=True, allow_null=True, help_text="Whose system it is; null of the account's own.")
    size = IntegerField(read_only=True, help_text="MB that it takes on a disk at least.")
    type = ChoiceField(
        Image.Type.choices,
        read_only=True,
        help_text=Meanings(
            "How it came about.",
            {
                "manual": "Made by the platform or a user.",
                "automatic": "Made of a disk that was deleted.",
            },
        ),
    )
    status = ChoiceField(
        STATUSES,
        read_only=True,
        help_text=Meanings(
            "How far it is.",
            {
                "creating": "It is being made.",
                "pending_upload": "Its file is awaited.",
                "available": "It can be deployed.",
            },
        ),
    )
    is_public = BooleanField(read_only=True, help_text="Whether it is the platform's, for everybody.")
    deprecated = BooleanField(read_only=True, help_text="Whether it should no longer be used.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(
        read_only=True, allow_null=True, help_text="When it was last changed, in UTC; null where it never was."
    )
    created_by = creator_field()
    expiry = DateTimeField(
        read_only=True, allow_null=True, help_text="When it will be deleted, in UTC; null of those that stay."
    )
    eol = DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="When its system gets no more updates, in UTC; null where unknown.",
    )


class ImageCreate(Resource):
    """The body of a new image from a disk."""

    disk_id = IdField(help_text="The disk to keep.")
    label = CharField(max_length=50, required=False, help_text="A name for it; by default the disk's.")
    description = CharField(
        allow_blank=True, max_length=65000, required=False, help_text="What it is; up to 65,000 characters."
    )


class ImageUpdate(Resource):
    """The writable fields of an image. Other fields are accepted and have no effect."""

    label = CharField(max_length=50, required=False, help_text="A name for it; up to 50 characters.")
    description = CharField(
        allow_null=True,
        allow_blank=True,
        min_length=1,
        max_length=65000,
        required=False,
        help_text="A description; up to 65,000 characters. Null or an empty text removes it.",
    )

    def validate_description(self, text: str | None) -> str | None:
        return text or None

    class Meta:
        as_in = (ImageResource,)


class ImageUpload(Resource):
    """The body of a new image from a file."""

    label = CharField(max_length=50, help_text="A name for it; up to 50 characters.")
    region = CharField(help_text="The region to upload to; it can be deployed everywhere.")
    description = CharField(
        allow_blank=True, max_length=65000, required=False, help_text="What it is; up to 65,000 characters."
    )


class UploadResource(Resource):
    """A new image, and where to send its file."""

    upload_to = CharField(
        read_only=True, help_text="The address that takes the gzip file by PUT, once and within 24 hours."
    )
    image = ImageResource(read_only=True, help_text="The image, `pending_upload`.")
