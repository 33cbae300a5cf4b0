"""Notifications and maintenance."""

from config.filters import CharFilter, DateTimeFilter, FilterSet


class MaintenanceFilterSet(FilterSet):
    """Maintenance of several tables, whose querysets have the same columns."""

    type = CharFilter("notice_type")
    status = CharFilter("notice_status")
    when = DateTimeFilter("notice_when")


class NotificationFilterSet(FilterSet):
    """Notifications of several tables. The serializer works out their label."""

    label = CharFilter("api_label")
