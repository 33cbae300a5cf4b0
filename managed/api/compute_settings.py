"""How staff get into each compute by SSH."""

import ipaddress
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import BooleanField, CharField, IntegerField, ValidationError

from accounts.actors import Actor
from compute.models import Instance
from config.api.access import UNRESTRICTED
from config.api.fields import Computed
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from managed.api.base import READ, WRITE, ManagedViewSet
from managed.models import ComputeSettings
from managed.services import compute_settings


def access(chosen: bool | None) -> bool:
    return True if chosen is None else chosen


def ip(chosen: str | None) -> str:
    return chosen or ComputeSettings.ANY


def printable(user: str) -> None:
    """Staff copy it into a terminal, which takes control characters for keys that were pressed."""
    if not user.isprintable():
        raise ValidationError("user is not valid")


def any_or_address(ip: str) -> None:
    """Whether the compute has the address is for the service to say. This is said along with what else is wrong."""
    if ip == ComputeSettings.ANY:
        return
    try:
        ipaddress.ip_address(ip)
    except ValueError:
        raise ValidationError("ip is not valid") from None


class SSHResource(Resource):
    access = Computed(BooleanField(default=True), access, "managed_settings__access", help_text="May staff log in?")
    user = CharField(source="managed_settings.user", read_only=True, allow_null=True)
    ip = Computed(CharField(default="any"), ip, "managed_settings__ip", help_text='An address, or "any".')
    port = IntegerField(source="managed_settings.port", read_only=True, allow_null=True)


class ComputeSettingsResource(Resource):
    """The settings of one compute."""

    id = IntegerField(read_only=True)
    label = CharField(read_only=True)
    group = CharField(read_only=True)
    ssh = SSHResource(source="*", read_only=True)


class SSHWish(Resource):
    access = BooleanField(required=False)
    user = CharField(
        min_length=0, max_length=32, required=False, allow_blank=True, allow_null=True, validators=[printable]
    )
    ip = CharField(
        max_length=45, required=False, validators=[any_or_address], help_text='An address of the compute, or "any".'
    )
    port = IntegerField(min_value=1, max_value=65535, required=False, allow_null=True)


class ComputeSettingsWish(Resource):
    ssh = SSHWish(required=False)


class ComputeSettingsViewSet(ManagedViewSet[Instance]):
    """SSH settings of managed: one entry for each compute of the account."""

    resource = ComputeSettingsResource
    requests = {"update": ComputeSettingsWish}
    scopes = {"list": READ, "retrieve": READ, "update": WRITE}
    grants = dict.fromkeys(scopes, UNRESTRICTED)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
        return Instance.objects.visible_to(actor)

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change what is given of the SSH settings of a compute."""
        instance = self.get_entity()
        changes: dict[str, Any] = self.validated(partial=True).get("ssh", {})
        compute_settings.update(self.actor, instance, changes)
        return self.retrieve(request, id=id)
