"""Filters of notifications and maintenance."""

from config.filters import CharFilter, DateTimeFilter, FilterSet


class MaintenanceFilterSet(FilterSet):
    """Filters of maintenance. Its rows come from several tables, whose querysets have the same columns."""

    type = CharFilter("notice_type")
    status = CharFilter("notice_status")
    when = DateTimeFilter("notice_when")


class NotificationFilterSet(FilterSet):
    """Filters of notifications. Their rows come from several tables, and the serializer computes their label."""

    label = CharFilter("api_label")
