"""The filters of all lists of managed services."""

from compute.models import Instance
from config.filters import CharFilter, FilterSet, NumberFilter
from managed.models import Contact, Credential, Issue, Service


class ContactFilterSet(FilterSet):
    """Filters of contacts of an account."""

    id = NumberFilter()
    group = CharFilter()

    class Meta:
        model = Contact


class CredentialFilterSet(FilterSet):
    """Filters of credentials of an account."""

    id = NumberFilter()

    class Meta:
        model = Credential


class IssueFilterSet(FilterSet):
    """Filters of issues of an account."""

    id = NumberFilter()

    class Meta:
        model = Issue


class ServiceFilterSet(FilterSet):
    """Filters of services of an account."""

    id = NumberFilter()

    class Meta:
        model = Service


class ComputeSettingsFilterSet(FilterSet):
    """Filters of instances of an account, with their settings."""

    id = NumberFilter()

    class Meta:
        model = Instance
