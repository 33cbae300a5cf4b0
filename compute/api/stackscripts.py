"""Deployment scripts: the public ones, and those of the account."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.filters.stackscripts import StackScriptFilterSet
from compute.models import StackScript
from compute.services.stackscripts import stackscripts
from config.api.access import READ_ONLY, READ_WRITE, Scope
from config.api.operations import operation
from config.api.serializers import Resource
from config.api.views import ReadOnlyModelViewSet
from config.errors import Denied

READ = Scope(("stackscripts:read_only",), token=False)
WRITE = "stackscripts:read_write"


class UserDefinedField(Resource):
    """What a script asks for, as its tags say."""

    label = CharField(help_text="What is asked, for people.")
    name = CharField(help_text="The name of the value in `stackscript_data`.")
    example = CharField(help_text="A value, for people.")
    oneOf = CharField(help_text="The values of which one is chosen, separated by commas.")  # noqa: N815
    manyOf = CharField(help_text="The values of which any number is chosen, separated by commas.")  # noqa: N815
    default = CharField(help_text="The value where none is given. A field without one is required.")

    class Meta:
        sometimes = ("example", "oneOf", "manyOf", "default")
        read_only = True


class StackScriptResource(Resource):
    """A script that runs at the first boot of a disk."""

    id = IntegerField(read_only=True)
    username = CharField(read_only=True, help_text="The user who made it.")
    user_gravatar_id = CharField(
        read_only=True, help_text="The MD5 of that user's mail address, for a picture from Gravatar."
    )
    label = CharField(min_length=3, max_length=128, required=False, help_text="A name for it; 3 to 128 characters.")
    description = CharField(allow_blank=True, required=False, help_text="What it does.")
    ordinal = IntegerField(
        read_only=True, help_text="Its place among those that the platform recommends; 0 of others."
    )
    logo_url = CharField(
        read_only=True, help_text="A picture of those that the platform recommends; empty of others."
    )
    images = ListField(
        child=CharField(),
        allow_empty=False,
        required=False,
        help_text="The ids of the images that it can be deployed on, or `any/all`.",
    )
    deployments_total = IntegerField(read_only=True, help_text="How often it was deployed.")
    deployments_active = IntegerField(read_only=True, help_text="Disks there are of those deployed with it.")
    is_public = BooleanField(
        required=False,
        help_text="Whether everybody sees and may deploy it. Cannot be taken back. By default false.",
    )
    mine = BooleanField(read_only=True, help_text="Whether it is of the account.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    rev_note = CharField(allow_blank=True, required=False, help_text="What the last change was about.")
    script = CharField(
        trim_whitespace=False, required=False, help_text="The script itself; its first line names what runs it."
    )
    user_defined_fields = UserDefinedField(
        many=True, read_only=True, help_text="The values that it asks for, read out of its UDF tags."
    )


class StackScriptCreate(StackScriptResource):
    """The body of a new script."""

    label = CharField(min_length=3, max_length=128)
    images = ListField(child=CharField(), allow_empty=False, help_text="Ids, or `any/all` for every image.")
    script = CharField(trim_whitespace=False)


class StackScriptViewSet(ReadOnlyModelViewSet[Actor, StackScript]):
    """Deployment scripts, which run at the first boot of a disk. Anybody may read the public ones."""

    serializer_class = StackScriptResource
    filterset_class = StackScriptFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[StackScript]:
        return StackScript.objects.visible_to(self.viewer).for_api(self.viewer)

    def own(self) -> StackScript:
        """The script that the path names, for a change. A public one is changed by its own account alone."""
        script = self.get_object()
        if script.account_id != self.actor.account_id:
            raise Denied
        return script

    @operation(WRITE, "add_stackscripts", request=StackScriptCreate)
    def create(self, request: Request) -> Response:
        """Create a script. What it asks for is read out of its UDF tags."""
        given = self.body()
        made = stackscripts.create(self.actor, given, given.problems)
        # once more for what comes with a row of the list: the author's picture among it
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
