"""Credentials that staff may use on the account's computes, and the SSH key they log in by."""

from typing import Any

from django.core.validators import RegexValidator
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from managed.api.base import READ, WRITE, ManagedViewSet
from managed.models import Credential
from managed.services import credentials, keys
from managed.services.credentials import Secret

LABEL = r"\A[a-zA-Z0-9\-_ .]*\Z"
LONGEST_PASSWORD = 5000


def label(**kwargs: Any) -> CharField:
    validators = [RegexValidator(LABEL, "label is not valid")]
    return CharField(min_length=2, max_length=75, validators=validators, **kwargs)


def username() -> CharField:
    return CharField(
        min_length=0, max_length=5000, required=False, allow_blank=True, trim_whitespace=False, write_only=True
    )


def password() -> CharField:
    return CharField(max_length=LONGEST_PASSWORD, trim_whitespace=False, write_only=True)


class CredentialResource(Resource):
    """A credential. What it holds is never in an answer."""

    id = IntegerField(read_only=True)
    label = label(help_text="Unique on the account.")
    last_decrypted = DateTimeField(read_only=True, allow_null=True, help_text="When staff last read it.")


class NewCredential(CredentialResource):
    username = username()
    password = password()


class CredentialSecret(Resource):
    username = username()
    password = password()


class KeyResource(Resource):
    ssh_key = CharField(read_only=True, help_text="For the authorized_keys file of a compute's user.")


class CredentialViewSet(ManagedViewSet[Credential]):
    """Credentials of managed."""

    resource = CredentialResource
    requests = {"create": NewCredential, "replace": CredentialSecret}
    # the contract asks for read_write to retrieve one
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
        given = self.validated()
        secret = Secret(given.get("username", ""), given["password"])
        return self.answer(credentials.create(self.actor, given["label"], secret))

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change the label of a credential."""
        credential, given = self.get_entity(), self.validated(partial=True)
        if "label" in given:
            credential = credentials.rename(self.actor, credential, given["label"])
        return self.answer(credential)

    def replace(self, request: Request, id: int) -> JSONResponse:
        """Replace the password of a credential, and its username where one is given."""
        credential, given = self.get_entity(), self.validated()
        credentials.replace(self.actor, credential, given["password"], given.get("username"))
        return JSONResponse()

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete a credential: staff have it no more."""
        credentials.revoke(self.actor, self.get_entity())
        return JSONResponse()

    def revoke(self, request: Request, id: int) -> JSONResponse:
        """Delete a credential: staff have it no more."""
        return self.destroy(request, id)


class KeyViewSet(ManagedViewSet[Credential]):
    """The SSH key of managed."""

    resource = KeyResource
    responses = {"show": KeyResource}
    scopes = {"show": READ}
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Credential]:
        return Credential.objects.visible_to(actor)

    def show(self, request: Request) -> JSONResponse:
        """The public key by which staff log in to computes that have it. It is made at the first call."""
        return JSONResponse({"ssh_key": keys.public_key(self.actor)})
