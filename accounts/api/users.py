"""The users of the account. Only unrestricted users may use these endpoints."""

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.profile import shown_grants
from accounts.api.scopes import READ, WRITE
from accounts.filters.users import UserFilterSet
from accounts.models import GlobalGrants, User
from accounts.serializers.profile import GrantsResource
from accounts.serializers.users import AllGrantsResource, UserResource
from accounts.services import users
from accounts.services.grants import all_entities, set_grants
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.views import GenericViewSet, ReadOnlyModelViewSet, expensive


class UserViewSet(ReadOnlyModelViewSet[Actor, User]):
    """Users of the account."""

    serializer_class = UserResource
    filterset_class = UserFilterSet
    lookup_value_converter = "name"
    required_scopes = READ
    required_grant = UNRESTRICTED
    lookup_field = "username"

    def get_queryset(self) -> QuerySet[User]:
        return User.objects.filter(account_id=self.viewer.account_id)

    def shown(self, user: User) -> Response:
        found = self.serializer_class.select(User.objects.filter(pk=user.pk)).get()
        return Response(self.get_serializer(found).data)

    @operation(WRITE, UNRESTRICTED)
    def create(self, request: Request) -> Response:
        """Invite a user. A mail with an address for choosing a password is sent to the user.

        The name is unique on the platform. The user must choose a password before signing in.
        """
        given = self.body()
        restricted = given.get("restricted", True)
        return self.shown(
            users.invite(self.actor, given.get("username"), given.get("email"), restricted, given.problems)
        )

    @operation(WRITE, UNRESTRICTED)
    @expensive
    def update(self, request: Request, id: str) -> Response:
        """Change name, address or restriction of a user.

        A user that becomes restricted has no grants at first. A user that becomes unrestricted loses its grants.
        """
        user, given = self.get_object(), self.body(partial=True)
        users.update(
            self.actor,
            user,
            username=given.get("username"),
            email=given.get("email"),
            restricted=given.get("restricted"),
            problems=given.problems,
        )
        return self.shown(user)

    @operation(WRITE, UNRESTRICTED)
    @expensive
    def destroy(self, request: Request, id: str) -> Response:
        """Remove a user with its tokens. The last unrestricted user cannot be removed."""
        users.remove(self.actor, self.get_object())
        return Response({})


class UserGrantsViewSet(GenericViewSet[Actor, User]):
    """The grants of a user of the account."""

    serializer_class = GrantsResource
    lookup_value_converter = "name"
    lookup_field = "username"

    def get_queryset(self) -> QuerySet[User]:
        return User.objects.filter(account_id=self.viewer.account_id)

    @operation(READ, UNRESTRICTED, response=None, lane="slow")
    @extend_schema(
        responses={
            200: AllGrantsResource,
            204: OpenApiResponse(description="The user is unrestricted and needs no grants."),
        }
    )
    @expensive
    def retrieve(self, request: Request, id: str) -> HttpResponse:
        """List the grants of a user, with every entity of the account. `permissions` is null without a grant.

        An unrestricted user has no grants: 204 without a body.
        """
        return shown_grants(acting(self.get_object()), all_entities)

    @operation(WRITE, UNRESTRICTED, response=None, lane="slow")
    @extend_schema(responses={200: AllGrantsResource})
    @expensive
    def update(self, request: Request, id: str) -> HttpResponse:
        """Change the given grants of a user. `permissions` null removes a grant."""
        user, given = self.get_object(), self.body(partial=True)
        on_account = given.pop("global", {})
        set_grants(self.actor, user, on_account, given, given.problems)
        return shown_grants(acting(user), all_entities)


def acting(user: User) -> Actor:
    """Return the actor for a user, with its grants."""
    row = GlobalGrants.objects.filter(user=user).first() if user.restricted else None
    return Actor(
        account_id=user.account_id or 0,
        user_id=user.pk,
        username=user.username,
        restricted=user.restricted,
        account_access=row.account_access if row else None,
        grants=frozenset(name for name in GlobalGrants.names() if row and getattr(row, name)),
    )
