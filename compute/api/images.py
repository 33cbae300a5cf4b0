"""Images that disks are deployed from: the public ones, and those of the account."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField

from accounts.actors import Actor
from compute.filters.images import ImageFilterSet
from compute.models import Image
from compute.services.images import images, uploads
from config.api.access import ANYONE, READ_ONLY, READ_WRITE, Scope, holds
from config.api.common_fields import IdField
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.errors import Denied

READ = Scope(("images:read_only",), token=False, enforced=False)
"""Any caller gets the public ones; a token without the scope gets no more than that."""
READ_ONE = replace(READ, told=True)
WRITE = "images:read_write"
STATUSES = [status for status in Image.Status if status != Image.Status.DELETING]


class ImageResource(Resource):
    """A template of disks."""

    id = CharField(
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
    created_by = CharField(
        read_only=True,
        allow_null=True,
        help_text="The user who made the image; `compute` for public images.",
    )
    expiry = DateTimeField(
        read_only=True, allow_null=True, help_text="When it will be deleted, in UTC; null of those that stay."
    )
    eol = DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="When its system gets no more updates, in UTC; null where unknown.",
    )


class ImageCreate(Resource):
    """The body of a new image of a disk."""

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
    """The body of a new image of a file."""

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


class ImageViewSet(ResourceViewSet[Actor, Image]):
    """Images that disks are deployed from: with a token those of its account, then the public ones."""

    resource = ImageResource
    filterset_class = ImageFilterSet
    ordering = ("is_public", "number", "position", "id")
    requests = {"create": ImageCreate, "update": ImageUpdate, "upload": ImageUpload}
    responses = {"upload": UploadResource}
    refusals = {"create": (404,)}
    scopes = {
        "list": READ,
        "retrieve": READ_ONE,
        "create": (WRITE, "computes:read_only"),
        "upload": WRITE,
        "update": WRITE,
        "destroy": WRITE,
    }
    grants = {
        "list": ANYONE,
        "retrieve": READ_ONLY,
        "create": "add_images",
        "upload": "add_images",
        "update": READ_WRITE,
        "destroy": READ_WRITE,
    }

    @property
    def viewer(self) -> Actor | None:
        return self.caller if self.caller is not None and holds(self.caller, "images:read_only") else None

    @staticmethod
    def objects(actor: Actor | None, path: PathParameters) -> QuerySet[Image]:
        return Image.objects.visible_to(actor)

    def check_level(self, entity: Any) -> None:
        """A public image is seen by all and changed by nobody here."""
        if entity.account_id != self.actor.account_id:
            raise Denied
        super().check_level(entity)

    def create(self, request: Request) -> JSONResponse:
        """Keep what is on a disk as an image. It shows `creating`; follow the event to its end."""
        given = self.body()
        fields = {name: given.get(name) for name in ("label", "description")}
        image = images.create_from_disk(self.actor, given.get("disk_id"), **fields, problems=given.problems)
        return self.answer(image)

    def upload(self, request: Request) -> JSONResponse:
        """Create an image from a file of your own: a raw disk image, compressed with gzip.

        Send it to `upload_to` by PUT, within 24 hours. The address needs no token, so keep it to yourself.
        """
        given = self.body()
        fields = {name: given.get(name) for name in ("label", "description", "region")}
        image = images.begin_upload(self.actor, **fields, problems=given.problems)
        path = reverse("image-upload", kwargs={"signed": uploads.sign(image)})
        shown = self.resource.shape().of_instance(image)
        address = f"{settings.STREAM_URL}{path}" if settings.STREAM_URL else request.build_absolute_uri(path)
        return JSONResponse({"upload_to": address, "image": shown})

    def update(self, request: Request, id: str) -> JSONResponse:
        """Change label and description of an image of the account.

        What is not named stays. Public images cannot be changed.
        """
        image = self.get_entity()
        return self.answer(images.update(self.actor, image, self.validated(partial=True)))

    def destroy(self, request: Request, id: str) -> JSONResponse:
        """Delete an image of the account. What was deployed from it stays as it is."""
        images.delete(self.actor, self.get_entity())
        return JSONResponse()
