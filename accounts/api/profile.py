"""The acting user, and its grants."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import WRITE
from accounts.models import GlobalGrants, User
from accounts.serializers.profile import GrantsResource, ProfileResource
from accounts.services import profile
from accounts.services.grants import granted_entities
from config import word
from config.api.access import ANY_TOKEN, ANYONE
from config.api.operations import operation
from config.api.responses import NoContent
from config.api.views import GenericViewSet, RetrieveViewSet, expensive


class ProfileViewSet(RetrieveViewSet[Actor, User]):
    """The acting user, with settings of the sign-in."""

    serializer_class = ProfileResource

    def get_queryset(self) -> QuerySet[User]:
        return User.objects.filter(pk=self.viewer.person)

    @operation(ANY_TOKEN, ANYONE)
    def retrieve(self, request: Request, **path: Any) -> Response:
        return super().retrieve(request, id=self.actor.user_id)

    @operation(WRITE, ANYONE, refusals=(403,))
    def update(self, request: Request) -> Response:
        """Change the given fields of the acting user's profile.

        Fields that are omitted keep their values. Leaves the event `profile_update`. If `email` changes, a mail
        is sent to the former address.
        """
        given = self.body(partial=True)
        return Response(self.get_serializer(profile.update(self.actor, given, given.problems)).data)


def shown_grants(user: Actor, entities: Callable[[Actor], dict[str, list[dict[str, Any]]]]) -> HttpResponse:
    """Return the grants of a user, given as its own actor: 204 without a body for an unrestricted user, which has
    none.

    `entities` finds the granted entities, by kind. It is not called for an unrestricted user.
    """
    if not user.restricted:
        return NoContent()
    on_account = {"account_access": user.account_access, **{name: user.may(name) for name in GlobalGrants.names()}}
    found = {"global": word.WORD.with_names(on_account), **entities(user)}
    return Response(word.WORD.with_names(found))


class GrantsViewSet(GenericViewSet[Actor, User]):
    """The grants of the acting user."""

    serializer_class = GrantsResource

    @operation(ANY_TOKEN, ANYONE, response=None, lane="slow")
    @extend_schema(
        responses={
            200: GrantsResource,
            204: OpenApiResponse(description="The user is unrestricted and needs no grants."),
        }
    )
    @expensive
    def retrieve(self, request: Request) -> HttpResponse:
        """List the acting user's grants.

        An unrestricted user may do everything and has no grants: 204 without a body.
        """
        return shown_grants(self.actor, granted_entities)
