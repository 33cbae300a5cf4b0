"""The OAuth clients that the account has registered."""

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.filters.oauth_clients import OAuthClientFilterSet
from accounts.models import OAuthClient
from accounts.serializers.oauth_clients import OAuthClientResource
from accounts.services import oauth_clients, thumbnails
from accounts.services.oauth_clients import ClientSpec
from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE, ANYONE, PUBLIC
from config.api.exceptions import WrongMediaType
from config.api.operations import operation
from config.api.views import GenericViewSet, ReadOnlyModelViewSet, expensive
from config.errors import Invalid, Missing
from config.web.headers import media_type

PICTURES = ("image/png", "image/jpeg")


class OAuthClientViewSet(ReadOnlyModelViewSet[Actor, OAuthClient]):
    """OAuth clients that the account has registered. Users of any account may authorize them."""

    serializer_class = OAuthClientResource
    filterset_class = OAuthClientFilterSet
    lookup_value_converter = "name"
    required_scopes = READ
    required_grant = ACCOUNT_READ
    lookup_field = "client_id"
    ordering = ("client_id",)

    def get_queryset(self) -> QuerySet[OAuthClient]:
        return OAuthClient.objects.visible_to(self.viewer).for_api()

    def shown(self, client: OAuthClient, **more: str) -> Response:
        fresh = OAuthClient.objects.for_api().get(pk=client.pk)
        return Response({**self.get_serializer(fresh).data, **more})

    @operation(WRITE, ACCOUNT_WRITE)
    def create(self, request: Request) -> Response:
        """Register a client.

        Only this answer shows its secret. A public client has none.
        """
        given = self.body()
        spec = ClientSpec(given.get("name"), given.get("redirect_uris"), given.get("public", False))
        client, secret = oauth_clients.create(self.actor, spec, given.problems)
        return self.shown(client, secret=secret)

    @operation(WRITE, ACCOUNT_WRITE)
    def update(self, request: Request, id: str) -> Response:
        """Change label or address of a client, or whether it is public.

        Fields that are omitted keep their values.
        """
        client, given = self.get_object(), self.body(partial=True)
        oauth_clients.update(self.actor, client, given, given.problems)
        return self.shown(client)

    @operation(WRITE, ACCOUNT_WRITE)
    @expensive
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a client and revoke all its access.

        Its tokens and refresh tokens are revoked. This cannot be undone.
        """
        oauth_clients.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"], url_path="reset-secret")
    @operation(WRITE, ACCOUNT_WRITE, response=OAuthClientResource)
    def reset_secret(self, request: Request, id: str) -> Response:
        """Replace the secret of a client.

        Only this answer shows it. The old secret is revoked at once. A public client has no secret, so the request
        is refused.
        """
        client = self.get_object()
        return self.shown(client, secret=oauth_clients.reset_secret(self.actor, client))


class ThumbnailViewSet(GenericViewSet[Actor, OAuthClient]):
    """The picture of a client, which is shown on the page that asks users for consent."""

    serializer_class = OAuthClientResource
    lookup_value_converter = "name"
    lookup_field = "client_id"

    def get_queryset(self) -> QuerySet[OAuthClient]:
        return (
            OAuthClient.objects.all()
            if self.viewer is None
            else OAuthClient.objects.filter(account_id=self.viewer.account_id)
        )

    @operation(PUBLIC, ANYONE, response=None)
    @extend_schema(responses={(200, "image/png"): OpenApiTypes.BINARY})
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """Get the picture of a client. The answer is a PNG file."""
        picture = OAuthClient.objects.filter(client_id=id).values_list("thumbnail", flat=True).first()
        if picture is None:
            raise Missing
        return HttpResponse(bytes(picture), content_type="image/png")

    @operation(WRITE, ACCOUNT_WRITE, request=None, response=None, throttle_scope="thumbnail", whole=True)
    @extend_schema(request={"image/png": OpenApiTypes.BINARY})
    def update(self, request: Request, id: str) -> Response:
        """Set the picture of a client: a PNG or JPEG file as the body, at most 1 MB and 4096 pixels a side.

        After the answer, the picture is scaled down and encoded again, which takes a moment. Until then the client
        keeps its former picture. If the file turns out to be broken, the former picture stays, and an event reports
        it.
        """
        client = self.get_object()
        if media_type(request.content_type) not in PICTURES:
            raise WrongMediaType(request.content_type, " or ".join(PICTURES))
        if int(request.META.get("CONTENT_LENGTH") or 0) > thumbnails.MAX_PICTURE_SIZE:
            raise Invalid(thumbnails.TOO_LARGE, "thumbnail")
        thumbnails.send(self.actor, client, request.body)
        return Response({})
