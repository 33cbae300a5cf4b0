"""Images that disks are deployed from: the public ones, and those of the account."""

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField

from accounts.actors import Actor
from compute.models import Image
from compute.services.images import images, uploads
from config.api.access import ANYONE, READ_ONLY, READ_WRITE, Scope, holds
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.errors import Denied

READ = Scope(("images:read_only",), token=False, enforced=False)
"""Any caller gets the public ones; a token without the scope gets no more than that."""
WRITE = "images:read_write"
STATUSES = [status for status in Image.Status if status != Image.Status.DELETING]


class ImageResource(Resource):
    id = CharField(read_only=True)
    label = CharField(max_length=50, required=False)
    description = CharField(allow_null=True, min_length=1, max_length=65000, required=False)
    vendor = CharField(read_only=True, allow_null=True)
    size = IntegerField(read_only=True, help_text="MB.")
    type = ChoiceField(Image.Type.choices, read_only=True)
    status = ChoiceField(STATUSES, read_only=True)
    is_public = BooleanField(read_only=True)
    deprecated = BooleanField(read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True, allow_null=True)
    created_by = CharField(read_only=True, allow_null=True)
    expiry = DateTimeField(read_only=True, allow_null=True)
    eol = DateTimeField(read_only=True, allow_null=True)

    class Meta:
        filterable = (
            "id", "label", "vendor", "size", "type", "status", "is_public", "deprecated", "created", "updated",
            "created_by",
        )  # fmt: skip


class ImageCreate(Resource):
    disk_id = IntegerField()
    label = CharField(max_length=50, required=False, help_text="By default the disk's.")
    description = CharField(allow_blank=True, max_length=65000, required=False)


class ImageUpload(Resource):
    label = CharField(max_length=50)
    region = CharField(help_text="Where the image is uploaded; it can be deployed everywhere.")
    description = CharField(allow_blank=True, max_length=65000, required=False)


class UploadResource(Resource):
    upload_to = CharField(read_only=True, help_text="Takes the gzip file by PUT, once and within 24 hours.")
    image = ImageResource(read_only=True)


class ImageViewSet(ResourceViewSet[Actor, Image]):
    """Images that disks are deployed from: the public ones, and with a token those of its account."""

    resource = ImageResource
    requests = {"create": ImageCreate, "upload": ImageUpload}
    responses = {"upload": UploadResource}
    scopes = {
        "list": READ,
        "retrieve": READ,
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
        given = self.validated()
        image = images.create_from_disk(
            self.actor, given["disk_id"], label=given.get("label"), description=given.get("description")
        )
        return self.answer(image)

    def upload(self, request: Request) -> JSONResponse:
        """Create an image from a file of your own: a raw disk image, compressed with gzip.

        Send it to `upload_to` by PUT, within 24 hours. The address needs no token, so keep it to yourself.
        """
        given = self.validated()
        image = images.begin_upload(
            self.actor, label=given["label"], description=given.get("description"), region=given["region"]
        )
        path = reverse("image-upload", kwargs={"signed": uploads.sign(image)})
        shown = self.resource.shape().of_instance(image)
        return JSONResponse({"upload_to": request.build_absolute_uri(path), "image": shown})

    def update(self, request: Request, id: str) -> JSONResponse:
        """Change label and description of an image of the account."""
        return self.answer(images.update(self.actor, self.get_entity(), self.validated(partial=True)))

    def destroy(self, request: Request, id: str) -> JSONResponse:
        """Delete an image of the account. What was deployed from it stays as it is."""
        images.delete(self.actor, self.get_entity())
        return JSONResponse()
