"""Instances: create, read, change, delete, and their power."""

from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.filters.instances import InstanceFilterSet
from compute.models import Instance
from compute.serializers.instances import BootRequest, InstanceCreate, InstanceResource, changes_of, spec_of
from compute.services.instances import instances, power
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet

READ = "computes:read_only"
WRITE = "computes:read_write"


class InstanceViewSet(ReadOnlyModelViewSet[Actor, Instance]):
    """Compute instances."""

    serializer_class = InstanceResource
    filterset_class = InstanceFilterSet
    queryset = Instance.objects.select_related("type", "host")
    required_scopes = READ
    required_grant = READ_ONLY

    @operation(WRITE, "add_computes", request=InstanceCreate, throttle_scope="instance_create")
    def create(self, request: Request) -> Response:
        """Create an instance: empty, from an image, or with `backup_id` from a backup.

        The instance is `provisioning` (or `restoring` from a backup) until its event finishes. The default label is
        `compute` and the id, with a number after it if the account has that label already.

        For accounts opened after November 5, 2019, new connections out to TCP ports 25, 465 and 587 are dropped,
        until support opens these ports for the account.
        """
        given = self.body()
        return Response(self.get_serializer(instances.create(self.actor, spec_of(given), given.problems)).data)

    @operation(WRITE, READ_WRITE)
    def update(self, request: Request, id: int) -> Response:
        """Change label, group, tags, alerts, the backup schedule or the watchdog.

        Fields that are not given stay as they are. A change creates the event `compute_update`.
        """
        instance, given = self.get_object(), self.body(partial=True)
        changed = instances.update(self.actor, instance, changes_of(given), given.problems)
        return Response(self.get_serializer(changed).data)

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, id: int) -> Response:
        """Delete an instance with its disks, profiles and addresses. Cannot be undone.

        If the instance is already being deleted, nothing changes and the deletion continues.
        """
        instances.delete(self.actor, self.get_object())
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=BootRequest)
    def boot(self, request: Request, id: int) -> Response:
        """Power on an instance that is off: with `config_id`, else the last booted profile, else the only one.

        The instance is `booting`, then `running`. Follow the event `compute_boot`. If the instance already runs,
        `config_id` has no effect, nothing changes, and the event is `finished` at once.
        """
        instance, given = self.get_object(), self.body()
        power.boot(self.actor, instance, given.get("config_id"), given.problems)
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=BootRequest)
    def reboot(self, request: Request, id: int) -> Response:
        """Shut a running instance down and boot it again, with the same choice of profile as `boot`.

        If the instance is off, it is only booted. The instance is `rebooting`, then `running`. Follow the event
        `compute_reboot`.
        """
        instance, given = self.get_object(), self.body()
        power.reboot(self.actor, instance, given.get("config_id"), given.problems)
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE)
    def shutdown(self, request: Request, id: int) -> Response:
        """Power off a running instance.

        The instance is `shutting_down`, then `offline`. Follow the event `compute_shutdown`. If the instance is
        already off, the event is `finished` at once. A `stopped` instance becomes `offline`, and is not booted
        after the maintenance of its host.
        """
        power.shutdown(self.actor, self.get_object())
        return Response({})
