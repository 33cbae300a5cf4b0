"""Notifications and maintenance: the platform's notices for an account."""

from accounts.actors import Actor
from compute.filters.notices import MaintenanceFilterSet, NotificationFilterSet
from compute.serializers.notices import MaintenanceResource, NotificationResource
from compute.services import notices
from config.api.access import READ_ONLY
from config.api.views import UnionViewSet

READ = "account:read_only"


class NoticeViewSet(UnionViewSet[Actor]):
    """Notices, soonest first."""

    required_scopes = READ
    required_grant = READ_ONLY

    ordering = ("notice_when", "notice_id", "notice_label")


class MaintenanceViewSet(NoticeViewSet):
    """Planned and ongoing maintenance of the account's computes.

    `cold_migration` moves a compute to another host. With `reboot`, a compute is off while its host is under
    maintenance. Restricted users see the maintenance of computes that they may see.
    """

    serializer_class = MaintenanceResource
    filterset_class = MaintenanceFilterSet
    tables = notices.maintenance


class NotificationViewSet(NoticeViewSet):
    """List notices for the account: migrations, maintenance and outages of its computes, outages of regions.

    Restricted users see only notices of computes that they may see, and of regions.
    """

    serializer_class = NotificationResource
    filterset_class = NotificationFilterSet
    tables = notices.notifications
