"""Images that disks are deployed from: the public ones, and those of the account."""

from dataclasses import replace

from django.conf import settings
from django.urls import reverse
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField

from accounts.actors import Actor
from compute.filters.images import ImageFilterSet
from compute.models import Image
from compute.services.images import images, uploads
from config.api.access import ANYONE, READ_ONLY, READ_WRITE, Scope, holds
from config.api.common_fields import IdField
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet
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


class ImageViewSet(ReadOnlyModelViewSet[Actor, Image]):
    """Images that disks are deployed from: with a token those of its account, then the public ones."""

    serializer_class = ImageResource
    filterset_class = ImageFilterSet
    queryset = Image.objects.all()
    lookup_value_converter = "slug_id"
    required_scopes = READ
    required_grant = ANYONE
    ordering = ("is_public", "number", "position", "id")

    def get_viewer(self) -> Actor | None:
        """Return the caller if its token lets it see images, else None, who sees the public ones."""
        return self.caller if self.caller is not None and holds(self.caller, "images:read_only") else None

    def own(self) -> Image:
        """The image that the path names, for a change. A public image is seen by all and changed by nobody here."""
        image = self.get_object()
        if image.account_id != self.actor.account_id:
            raise Denied
        return image

    @operation(READ_ONE, READ_ONLY)
    def retrieve(self, request: Request, id: str) -> Response:
        return super().retrieve(request, id=id)

    @operation((WRITE, "computes:read_only"), "add_images", request=ImageCreate, refusals=(404,))
    def create(self, request: Request) -> Response:
        """Keep what is on a disk as an image. It shows `creating`; follow the event to its end."""
        given = self.body()
        fields = {name: given.get(name) for name in ("label", "description")}
        image = images.create_from_disk(self.actor, given.get("disk_id"), **fields, problems=given.problems)
        return Response(self.get_serializer(image).data)

    @action(detail=False, methods=["post"])
    @operation(WRITE, "add_images", request=ImageUpload, response=UploadResource)
    def upload(self, request: Request) -> Response:
        """Create an image from a file of your own: a raw disk image, compressed with gzip.

        Send it to `upload_to` by PUT, within 24 hours. The address needs no token, so keep it to yourself.
        """
        given = self.body()
        fields = {name: given.get(name) for name in ("label", "description", "region")}
        image = images.begin_upload(self.actor, **fields, problems=given.problems)
        path = reverse("image-upload", kwargs={"signed": uploads.sign(image)})
        shown = self.serializer_class(image).data
        address = f"{settings.STREAM_URL}{path}" if settings.STREAM_URL else request.build_absolute_uri(path)
        return Response({"upload_to": address, "image": shown})

    @operation(WRITE, READ_WRITE, request=ImageUpdate)
    def update(self, request: Request, id: str) -> Response:
        """Change label and description of an image of the account.

        What is not named stays. Public images cannot be changed.
        """
        image = self.own()
        return Response(self.get_serializer(images.update(self.actor, image, self.validated(partial=True))).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: str) -> Response:
        """Delete an image of the account. What was deployed from it stays as it is."""
        images.delete(self.actor, self.own())
        return Response({})
