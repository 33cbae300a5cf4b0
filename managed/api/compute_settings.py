"""The settings with which staff log in to each compute by SSH."""

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from compute.models import Instance
from config.api.access import UNRESTRICTED
from config.api.operations import operation
from config.api.views import ReadOnlyModelViewSet
from managed.api.base import MANAGED, READ, WRITE
from managed.filters import ComputeSettingsFilterSet
from managed.serializers.compute_settings import ComputeSettingsResource, ComputeSettingsWish
from managed.services import compute_settings


class ComputeSettingsViewSet(ReadOnlyModelViewSet[Actor, Instance]):
    """SSH settings of managed monitoring: one entry for each compute of the account."""

    serializer_class = ComputeSettingsResource
    filterset_class = ComputeSettingsFilterSet
    permission_classes = MANAGED
    queryset = Instance.objects.all()
    required_scopes = READ
    required_grant = UNRESTRICTED

    @operation(WRITE, UNRESTRICTED, request=ComputeSettingsWish)
    def update(self, request: Request, id: int) -> Response:
        """Change the given SSH settings of a compute. Fields that are omitted keep their values."""
        instance, given = self.get_object(), self.body(partial=True)
        compute_settings.update(self.actor, instance, given.get("ssh", {}), given.problems)
        return self.retrieve(request, id=id)
