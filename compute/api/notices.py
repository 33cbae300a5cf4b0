"""Notifications and maintenance: what the platform has to tell an account."""

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
    """Maintenance of the account's computes that is due or goes on.

    `cold_migration` takes a compute to another host; with `reboot` it is off while its host is worked on.
    Restricted users see what concerns computes they may see.
    """

    serializer_class = MaintenanceResource
    filterset_class = MaintenanceFilterSet
    tables = notices.maintenance


class NotificationViewSet(NoticeViewSet):
    """List notices for the account: migrations, maintenance and outages of its computes, outages of regions.

    Restricted users are told of computes they may see.
    """

    serializer_class = NotificationResource
    filterset_class = NotificationFilterSet
    tables = notices.notifications
