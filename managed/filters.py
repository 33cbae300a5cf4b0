"""The filters of all lists of managed services."""

from compute.models import Instance
from config.filters import CharFilter, FilterSet, NumberFilter
from managed.models import Contact, Credential, Issue, Service


class ContactFilterSet(FilterSet):
    """Contacts of an account."""

    id = NumberFilter()
    group = CharFilter()

    class Meta:
        model = Contact


class CredentialFilterSet(FilterSet):
    """Credentials of an account."""

    id = NumberFilter()

    class Meta:
        model = Credential


class IssueFilterSet(FilterSet):
    """Issues of an account."""

    id = NumberFilter()

    class Meta:
        model = Issue


class ServiceFilterSet(FilterSet):
    """Services of an account."""

    id = NumberFilter()

    class Meta:
        model = Service


class ComputeSettingsFilterSet(FilterSet):
    """Instances of an account, with their settings."""

    id = NumberFilter()

    class Meta:
        model = Instance
