"""Instances: create, read, change, delete, and their power."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from accounts.actors import Actor
from compute.api.resources import (
    BootRequest,
    InstanceCreate,
    InstanceResource,
)
from compute.models import Instance
from compute.services.instances import instances, power
from config.api.access import READ_ONLY, READ_WRITE
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.views import ResourceViewSet

READ = "computes:read_only"
WRITE = "computes:read_write"


class InstanceViewSet(ResourceViewSet[Actor, Instance]):
    """Compute instances."""

    resource = InstanceResource
    requests = {"create": InstanceCreate, "boot": BootRequest, "reboot": BootRequest}
    scopes = {
        "list": READ,
        "retrieve": READ,
        "create": WRITE,
        "update": WRITE,
        "destroy": WRITE,
        "boot": WRITE,
        "reboot": WRITE,
        "shutdown": WRITE,
    }
    grants = {
        "list": READ_ONLY,
        "retrieve": READ_ONLY,
        "create": "add_computes",
        "update": READ_WRITE,
        "destroy": READ_WRITE,
        "boot": READ_WRITE,
        "reboot": READ_WRITE,
        "shutdown": READ_WRITE,
    }
    throttle = {"create": "instance_create"}
    related = ("type", "host")

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
        return Instance.objects.visible_to(actor)

    def create(self, request: Request) -> JSONResponse:
        """Create an instance: empty, from an image, or with `backup_id` from a backup.

        It shows `provisioning`, or `restoring` from a backup; follow its event to the end.
        """
        instance = instances.create(self.actor, spec_of(self.validated()))
        return self.answer(instance)

    def update(self, request: Request, id: int) -> JSONResponse:
        """Change label, group, tags, alerts, the backup schedule or the watchdog."""
        instance = self.get_entity()
        given = self.validated(partial=True)
        tags = given.pop("tags", None)
        changes = instances.InstanceChanges(given, None if tags is None else tuple(tags))
        return self.answer(instances.update(self.actor, instance, changes))

    def destroy(self, request: Request, id: int) -> JSONResponse:
        """Delete an instance with its disks, profiles and addresses. Cannot be undone."""
        instances.delete(self.actor, self.get_entity())
        return JSONResponse()

    def boot(self, request: Request, id: int) -> JSONResponse:
        """Power on an instance that is off: with `config_id`, else the last booted profile, else the only one."""
        power.boot(self.actor, self.get_entity(), self.validated().get("config_id"))
        return JSONResponse()

    def reboot(self, request: Request, id: int) -> JSONResponse:
        """Shut a running instance down and boot it again, with the same choice of profile as `boot`."""
        power.reboot(self.actor, self.get_entity(), self.validated().get("config_id"))
        return JSONResponse()

    def shutdown(self, request: Request, id: int) -> JSONResponse:
        """Power off a running instance."""
        power.shutdown(self.actor, self.get_entity())
        return JSONResponse()


def spec_of(given: Mapping[str, Any]) -> instances.InstanceSpec:
    """What the service takes, from a validated body."""
    return instances.InstanceSpec(**spec_fields(given))


def spec_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given of a body, as a spec takes it: null is not given, and lists are tuples."""
    known = {name: value for name, value in given.items() if value is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
