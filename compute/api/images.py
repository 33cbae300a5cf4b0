"""Images that disks are deployed from: the public ones, and those of the account."""

from dataclasses import replace

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.public import PublicViewSet
from compute.filters.images import ImageFilterSet
from compute.models import Image
from compute.serializers.images import ImageCreate, ImageResource, ImageUpdate, ImageUpload, UploadResource
from compute.services.images import images, uploads
from config.api.access import ANYONE, READ_ONLY, READ_WRITE, Scope, holds
from config.api.operations import operation

READ = Scope(("images:read_only",), token=False, enforced=False)
"""Any caller may read public images. A token without the scope gives access to these only."""
READ_ONE = replace(READ, listed=True)
WRITE = "images:read_write"


class ImageViewSet(PublicViewSet[Image]):
    """Images that disks are deployed from. With a token, the account's own images come before the public ones."""

    serializer_class = ImageResource
    filterset_class = ImageFilterSet
    queryset = Image.objects.all()
    lookup_value_converter = "catalogue_slug"
    required_scopes = READ
    required_grant = ANYONE
    ordering = ("is_public", "number", "position", "id")

    def get_viewer(self) -> Actor | None:
        """Return the caller if its token lets it see images, else None, who sees the public ones."""
        return self.caller if self.caller is not None and holds(self.caller, "images:read_only") else None

    @operation(READ_ONE, READ_ONLY)
    def retrieve(self, request: Request, id: str) -> Response:
        return super().retrieve(request, id=id)

    @operation((WRITE, "computes:read_only"), "add_images", request=ImageCreate, refusals=(404,))
    def create(self, request: Request) -> Response:
        """Create an image from a disk. The image is `creating` until its event finishes."""
        given = self.body()
        fields = {name: given.get(name) for name in ("label", "description")}
        image = images.create_from_disk(self.actor, given.get("disk_id"), **fields, problems=given.problems)
        return Response(self.get_serializer(image).data)

    @action(detail=False, methods=["post"])
    @operation(WRITE, "add_images", request=ImageUpload, response=UploadResource)
    def upload(self, request: Request) -> Response:
        """Create an image from a file of your own: a raw disk image, compressed with gzip.

        Send the file to `upload_to` with PUT, within 24 hours. The address needs no token, so keep it secret.
        """
        given = self.body()
        fields = {name: given.get(name) for name in ("label", "description", "region")}
        image = images.begin_upload(self.actor, **fields, problems=given.problems)
        shown = self.serializer_class(image).data
        address = uploads.address_for(image, f"{request.scheme}://{request.get_host()}")
        return Response({"upload_to": address, "image": shown})

    @operation(WRITE, READ_WRITE, request=ImageUpdate)
    def update(self, request: Request, id: str) -> Response:
        """Change label and description of an image of the account.

        Fields that are not given stay as they are. Public images cannot be changed.
        """
        image = self.own()
        return Response(self.get_serializer(images.update(self.actor, image, self.validated(partial=True))).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: str) -> Response:
        """Delete an image of the account. Disks that were deployed from it stay as they are."""
        images.delete(self.actor, self.own())
        return Response({})
