"""Serializers of images, and the bodies of requests about them."""

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
    about = "The user who created the image. `compute` for public images."
    if not word.IS_SET:
        return CharField(read_only=True, allow_null=True, help_text=about)
    child = CharField(allow_null=True)
    return Computed(child, creator, "created_by", "is_public", ordered_by="created_by", help_text=about)


class ImageResource(Resource):
    """A template of disks."""

    id = PlatformTextField(
        read_only=True,
        help_text="The id of the image for requests: `compute/…` for images of the platform, `private/` "
        "and a number for images of the account.",
    )
    label = CharField(help_text="A name for the image.")
    description = Computed(
        CharField(allow_null=True),
        lambda text: text or "",
        "description",
        ordered_by="description",
        help_text="A description. Empty if there is none.",
    )
    vendor = CharField(
        read_only=True, allow_null=True, help_text="The distribution of the system. Null for images of the account."
    )
    size = IntegerField(read_only=True, help_text="The minimum size of a disk for the image, in MB.")
    type = ChoiceField(
        Image.Type.choices,
        read_only=True,
        help_text=Meanings(
            "The origin of the image.",
            {
                "manual": "The platform or a user created the image.",
                "automatic": "The image was created from a deleted disk.",
            },
        ),
    )
    status = ChoiceField(
        STATUSES,
        read_only=True,
        help_text=Meanings(
            "The status of the image.",
            {
                "creating": "The image is being created.",
                "pending_upload": "The platform waits for the upload of the file.",
                "available": "The image can be deployed.",
            },
        ),
    )
    is_public = BooleanField(
        read_only=True, help_text="Whether the image belongs to the platform and is available to all accounts."
    )
    deprecated = BooleanField(read_only=True, help_text="Whether the image is deprecated.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="The time of the last change, in UTC. Null if there was no change.",
    )
    created_by = creator_field()
    expiry = DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="The time at which the image will be deleted, in UTC. Null if the image is kept.",
    )
    eol = DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="The time after which the system gets no updates, in UTC. Null if unknown.",
    )


class ImageCreate(Resource):
    """The body of a new image from a disk."""

    disk_id = IdField(help_text="The disk to create the image from.")
    label = CharField(
        max_length=50, required=False, help_text="A name for the image. By default the label of the disk."
    )
    description = CharField(
        allow_blank=True, max_length=65000, required=False, help_text="A description, up to 65,000 characters."
    )


class ImageUpdate(Resource):
    """The writable fields of an image. Other fields are accepted and have no effect."""

    label = CharField(max_length=50, required=False, help_text="A name for the image, up to 50 characters.")
    description = CharField(
        allow_null=True,
        allow_blank=True,
        min_length=1,
        max_length=65000,
        required=False,
        help_text="A description, up to 65,000 characters. Null or an empty text removes it.",
    )

    def validate_description(self, text: str | None) -> str | None:
        return text or None

    class Meta:
        as_in = (ImageResource,)


class ImageUpload(Resource):
    """The body of a new image from a file."""

    label = CharField(max_length=50, help_text="A name for the image, up to 50 characters.")
    region = CharField(help_text="The region to upload to. The image can be deployed in all regions.")
    description = CharField(
        allow_blank=True, max_length=65000, required=False, help_text="A description, up to 65,000 characters."
    )


class UploadResource(Resource):
    """A new image, and where to send its file."""

    upload_to = CharField(
        read_only=True,
        help_text="The address for the upload of the gzip file by PUT. It works once, within 24 hours.",
    )
    image = ImageResource(read_only=True, help_text="The image, with the status `pending_upload`.")
