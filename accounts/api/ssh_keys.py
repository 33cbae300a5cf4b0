"""The SSH keys on the acting user's profile."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import SSHKey
from accounts.services import ssh_keys
from config.api.access import ANYONE
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class SSHKeyResource(Resource):
    id = IntegerField(read_only=True)
    label = CharField(min_length=0, max_length=64, allow_blank=True, required=False)
    ssh_key = CharField(help_text="A line of an authorized_keys file.")
    created = DateTimeField(read_only=True)


class SSHKeyLabel(Resource):
    label = CharField(min_length=0, max_length=64, allow_blank=True, required=False)


class SSHKeyViewSet(ResourceViewSet[Actor, SSHKey]):
    """Public keys of the acting user, for new instances (`authorized_users`)."""

    resource = SSHKeyResource
    requests = {"update": SSHKeyLabel}
    scopes = {"list": READ, "retrieve": READ, "create": WRITE, "update": WRITE, "destroy": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[SSHKey]:
        return SSHKey.objects.filter(user_id=actor.person)

    def create(self, request: Request) -> JSONResponse:
        """Add a public key."""
        given = self.validated()
        return self.answer(ssh_keys.add(self.actor, given["ssh_key"], given.get("label", "")))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change the label of a key."""
        key = self.get_entity()
        ssh_keys.rename(self.actor, key, self.validated(partial=True).get("label", key.label))
        return self.answer(key)

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a key. Instances that have it keep it."""
        ssh_keys.remove(self.actor, self.get_entity())
        return JSONResponse()
