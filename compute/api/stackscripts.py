"""Deployment scripts: the public ones, and those of the account."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, ListField

from accounts.actors import Actor
from compute.models import StackScript
from compute.services.stackscripts import stackscripts
from config.api.access import READ_ONLY, READ_WRITE, Scope
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.errors import Denied

READ = Scope(("stackscripts:read_only",), token=False)
WRITE = "stackscripts:read_write"


class UserDefinedField(Resource):
    """What a script asks for, as its tags say."""

    label = CharField()
    name = CharField()
    example = CharField()
    oneOf = CharField(help_text="The values to choose one from, comma-separated.")  # noqa: N815
    manyOf = CharField(help_text="The values to choose any number from, comma-separated.")  # noqa: N815
    default = CharField(help_text="A field without one is required.")

    class Meta:
        read_only = True


class StackScriptResource(Resource):
    id = IntegerField(read_only=True)
    username = CharField(read_only=True)
    user_gravatar_id = CharField(read_only=True)
    label = CharField(min_length=3, max_length=128, required=False)
    description = CharField(allow_blank=True, required=False)
    ordinal = IntegerField(read_only=True)
    logo_url = CharField(read_only=True)
    images = ListField(
        child=CharField(), allow_empty=False, required=False, help_text="Ids, or `any/all` for every image."
    )
    deployments_total = IntegerField(read_only=True)
    deployments_active = IntegerField(read_only=True, help_text="Disks there are of those deployed with it.")
    is_public = BooleanField(required=False, help_text="Cannot be taken back.")
    mine = BooleanField(read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)
    rev_note = CharField(allow_blank=True, required=False)
    script = CharField(trim_whitespace=False, required=False)
    user_defined_fields = UserDefinedField(many=True, read_only=True)

    class Meta:
        filterable = (
            "id", "username", "label", "description", "deployments_total", "is_public", "rev_note", "mine",
        )  # fmt: skip


class StackScriptCreate(StackScriptResource):
    label = CharField(min_length=3, max_length=128)
    images = ListField(child=CharField(), allow_empty=False, help_text="Ids, or `any/all` for every image.")
    script = CharField(trim_whitespace=False)


class StackScriptViewSet(ResourceViewSet[Actor, StackScript]):
    """Deployment scripts, which run at the first boot of a disk. Anybody may read the public ones."""

    resource = StackScriptResource
    requests = {"create": StackScriptCreate}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE}
    grants = {
        "list": READ_ONLY,
        "retrieve": READ_ONLY,
        "create": "add_stackscripts",
        "update": READ_WRITE,
        "destroy": READ_WRITE,
    }

    @staticmethod
    def objects(actor: Actor | None, path: PathParameters) -> QuerySet[StackScript]:
        return StackScript.objects.visible_to(actor).for_api(actor)

    def check_level(self, entity: Any) -> None:
        """A public script is seen by all and changed by its account alone."""
        if entity.account_id != self.actor.account_id:
            raise Denied
        super().check_level(entity)

    def create(self, request: Request) -> JSONResponse:
        """Create a script. What it asks for is read out of its UDF tags."""
        made = stackscripts.create(self.actor, self.validated())
        # once more for what comes with a row of the list: the author's picture among it
        return self.answer(StackScript.objects.for_api(self.actor).get(pk=made.pk))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change a script of the account. A public one cannot be made private again."""
        script = self.get_entity()
        stackscripts.update(self.actor, script, self.validated(partial=True))
        return self.answer(script)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a script of the account. Disks deployed with it stay as they are."""
        stackscripts.delete(self.actor, self.get_entity())
        return JSONResponse()
