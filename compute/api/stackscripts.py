"""Deployment scripts: the public ones, and those of the account."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from compute.api.public import PublicViewSet
from compute.filters.stackscripts import StackScriptFilterSet
from compute.models import StackScript
from compute.serializers.stackscripts import StackScriptCreate, StackScriptResource
from compute.services.stackscripts import stackscripts
from config.api.access import READ_ONLY, READ_WRITE, Scope
from config.api.operations import operation

READ = Scope(("stackscripts:read_only",), token=False)
WRITE = "stackscripts:read_write"


class StackScriptViewSet(PublicViewSet[StackScript]):
    """Deployment scripts, which run at the first boot of a disk. Anyone may read public scripts."""

    serializer_class = StackScriptResource
    filterset_class = StackScriptFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[StackScript]:
        return StackScript.objects.visible_to(self.viewer).for_api(self.viewer)

    @operation(WRITE, "add_stackscripts", request=StackScriptCreate)
    def create(self, request: Request) -> Response:
        """Create a script. Its user-defined fields are read from its UDF tags."""
        given = self.body()
        made = stackscripts.create(self.actor, given, given.problems)
        # read again for the values that `for_api` adds, such as the author's picture
        return Response(self.get_serializer(StackScript.objects.for_api(self.actor).get(pk=made.pk)).data)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, id: int) -> Response:
        """Change a script of the account. A public one cannot be made private again."""
        script, given = self.own(), self.body(partial=True)
        stackscripts.update(self.actor, script, given, given.problems)
        return Response(self.get_serializer(script).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete a script of the account. Disks deployed with it stay as they are."""
        stackscripts.delete(self.actor, self.own())
        return Response({})
