"""Configuration profiles of an instance."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.api.instances import READ, WRITE
from compute.api.nested import OfInstance
from compute.filters.configs import ConfigFilterSet
from compute.models import Config, Instance
from compute.serializers.configs import ConfigRequest, ConfigResource, changes_of
from compute.services.instances import configs
from config.api.access import READ_ONLY, READ_WRITE
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet


class ConfigViewSet(OfInstance, ReadOnlyModelViewSet[Actor, Config]):
    """Configuration profiles of an instance: how it boots."""

    serializer_class = ConfigResource
    filterset_class = ConfigFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[Config]:
        return Config.objects.filter(instance__in=self.get_parent_queryset().values("pk"))

    @operation(WRITE, READ_WRITE, request=ConfigRequest)
    def create(self, request: Request, compute_id: int) -> Response:
        """Add a profile. VLANs that its interfaces name for the first time are created."""
        instance: Instance = self.get_parent()
        given = self.body()
        return self.shown(configs.create(self.actor, instance, changes_of(given), given.problems))

    @operation(WRITE, READ_WRITE, request=ConfigRequest)
    def update(self, request: Request, compute_id: int, id: int) -> Response:
        """Change the given fields of a profile for its next boot. `devices` replaces all devices."""
        config, given = self.get_object(), self.body(partial=True)
        return self.shown(configs.update(self.actor, config, changes_of(given), given.problems))

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, compute_id: int, id: int) -> Response:
        """Delete a profile. An instance that was booted with it keeps running. Cannot be undone."""
        configs.delete(self.actor, self.get_object())
        return Response({})

    def shown(self, config: Config) -> Response:
        """Return the profile, read again, since its devices are rows of two other tables."""
        return self.retrieve(self.request, **{**self.kwargs, "id": config.pk})
