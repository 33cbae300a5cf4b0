"""Personal access tokens of the acting user."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.filters.tokens import PersonalTokenFilterSet
from accounts.models import PersonalToken, User
from accounts.serializers.tokens import PersonalTokenRequest, PersonalTokenResource, expiry_of
from accounts.services import tokens
from config.api.access import ANYONE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet

READ = "account:read_only"
WRITE = "account:read_write"


class PersonalTokenViewSet(ReadOnlyModelViewSet[Actor, PersonalToken]):
    """Personal access tokens of the acting user, until they expire. Nobody sees the tokens of other users."""

    serializer_class = PersonalTokenResource
    filterset_class = PersonalTokenFilterSet
    required_scopes = READ
    required_grant = ANYONE

    def get_queryset(self) -> QuerySet[PersonalToken]:
        return PersonalToken.objects.unexpired().filter(user_id=self.viewer.person)

    @operation(WRITE, ANYONE, request=PersonalTokenRequest, refusals=(403,))
    def create(self, request: Request) -> Response:
        """Create a personal access token. Only this answer shows the whole token."""
        given = self.body()
        token, readable = tokens.create_token(
            User.objects.get(pk=self.actor.person),
            given.get("label"),
            given.get("scopes", " ".join(self.actor.scopes)),
            expiry_of(given),
            self.actor,
            given.problems,
        )
        return Response({**self.get_serializer(token).data, "token": readable})

    @operation(WRITE, ANYONE)
    def update(self, request: Request, id: int) -> Response:
        """Change the label. Scopes and expiry do not change."""
        token = self.get_object()
        given = self.body(partial=True)
        tokens.rename_token(self.actor, token, given.get("label"), given.problems)
        return Response(self.get_serializer(token).data)

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request, id: int) -> Response:
        """Revoke a personal access token, at once.

        Requests with it are then answered 401. This cannot be undone.
        """
        tokens.revoke_token(self.actor, self.get_object())
        return Response({})
