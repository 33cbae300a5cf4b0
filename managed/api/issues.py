"""Issues: failures of services, each with its ticket."""

from accounts.actors import Actor
from config.api.access import UNRESTRICTED
from config.api.views import ReadOnlyModelViewSet
from managed.api.base import MANAGED, READ
from managed.filters import IssueFilterSet
from managed.models import Issue
from managed.serializers.issues import IssueResource


class IssueViewSet(ReadOnlyModelViewSet[Actor, Issue]):
    """Issues that checks of services have raised."""

    serializer_class = IssueResource
    filterset_class = IssueFilterSet
    permission_classes = MANAGED
    queryset = Issue.objects.all()
    required_scopes = READ
    required_grant = UNRESTRICTED
