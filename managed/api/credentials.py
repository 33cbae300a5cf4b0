"""Credentials that staff may use on the account's computes, and the SSH key they log in by."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.common_fields import printable
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from managed.api.base import READ, WRITE, ManagedViewSet
from managed.filters import CredentialFilterSet
from managed.models import Credential
from managed.services import credentials, keys
from managed.services.credentials import Secret

LONGEST_PASSWORD = 5000


def label(**kwargs: Any) -> CharField:
    return CharField(min_length=2, max_length=75, validators=[printable("label")], **kwargs)


def username() -> CharField:
    return CharField(
        min_length=0, max_length=5000, required=False, allow_blank=True, trim_whitespace=False, write_only=True,
        help_text="The name to sign in with; up to 5000 characters, never shown again.",
    )  # fmt: skip


def password() -> CharField:
    return CharField(
        max_length=LONGEST_PASSWORD, trim_whitespace=False, write_only=True,
        help_text="The secret, kept encrypted and never shown again.",
    )  # fmt: skip


class CredentialResource(Resource):
    """A credential. What it holds is never in an answer."""

    id = IntegerField(read_only=True)
    label = label(help_text="A name for it, unique on the account; 2 to 75 characters.")
    last_decrypted = DateTimeField(
        read_only=True, allow_null=True, help_text="When staff last read it, in UTC; null where they never did."
    )


class NewCredential(CredentialResource):
    """The body of a new credential."""

    username = username()
    password = password()


class CredentialSecret(Resource):
    """The body of another secret of a credential."""

    username = username()
    password = password()


class KeyResource(Resource):
    """The public key of managed monitoring."""

    ssh_key = CharField(read_only=True, help_text="A line for the `authorized_keys` file of a compute's user.")


class CredentialViewSet(ManagedViewSet[Credential]):
    """Credentials of managed."""

    resource = CredentialResource
    filterset_class = CredentialFilterSet
    requests = {"create": NewCredential, "replace": CredentialSecret}
    # the contract asks for read_write to retrieve one
    operations = {"replace": "secret"}
    scopes = {
        "list": READ, "retrieve": WRITE, "create": WRITE, "update": WRITE, "destroy": WRITE, "replace": WRITE,
        "revoke": WRITE,
    }  # fmt: skip
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Credential]:
        return Credential.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Add a credential. It is kept encrypted, and read by staff alone."""
        given = self.body()
        secret = Secret(given.get("username", ""), given.get("password", ""))
        return self.answer(credentials.create(self.actor, given.get("label"), secret, given.problems))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change the label of a credential.

        What it holds is changed by `POST …/update`.
        """
        credential, given = self.get_entity(), self.validated(partial=True)
        if "label" in given:
            credential = credentials.rename(self.actor, credential, given["label"])
        return self.answer(credential)

    def replace(self, request: Request, id: int) -> JSONResponse:
        """Replace the password of a credential, and its username where one is given.

        What it held before is gone.
        """
        credential, given = self.get_entity(), self.validated()
        credentials.replace(self.actor, credential, given["password"], given.get("username"))
        return JSONResponse()

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a credential: staff have it no more.

        Services that name it name it no more. Cannot be undone.
        """
        credentials.revoke(self.actor, self.get_entity())
        return JSONResponse()

    def revoke(self, request: Request, id: int) -> JSONResponse:
        """Delete a credential: staff have it no more.

        It does the same as `DELETE`. Cannot be undone.
        """
        return self.destroy(request, id)


class KeyViewSet(ManagedViewSet[Credential]):
    """The SSH key of managed."""

    resource = KeyResource
    responses = {"show": KeyResource}
    scopes = {"show": READ}
    grants = dict.fromkeys(scopes, UNRESTRICTED)
    lanes = {"show": "writes"}  # the first call makes the key

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Credential]:
        return Credential.objects.visible_to(actor)

    def show(self, request: Request) -> JSONResponse:
        """The public key by which staff log in to computes that have it. It is made at the first call."""
        return JSONResponse({"ssh_key": keys.public_key(self.actor)})
