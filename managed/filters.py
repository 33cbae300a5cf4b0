"""The filters of all lists of managed services."""

from compute.models import Instance
from config.filters import CharFilter, ChoiceFilter, FilterSet, NumberFilter, PartFilter, StatusFilter
from managed.models import Contact, Credential, Issue, Service


class ContactFilterSet(FilterSet):
    """Filters of contacts of an account."""

    id = NumberFilter()
    group = CharFilter()

    class Meta:
        model = Contact


class ContactListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    name = PartFilter(label="Name")
    group = ChoiceFilter(label="Group")

    class Meta:
        model = Contact


class CredentialFilterSet(FilterSet):
    """Filters of credentials of an account."""

    id = NumberFilter()

    class Meta:
        model = Credential


class CredentialListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    label = PartFilter(label="Label")

    class Meta:
        model = Credential


class IssueFilterSet(FilterSet):
    """Filters of issues of an account."""

    id = NumberFilter()

    class Meta:
        model = Issue


class IssueListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    summary = PartFilter("ticket__summary", label="Ticket")
    status = StatusFilter("ticket__status", label="Status of the ticket")

    class Meta:
        model = Issue


class ServiceFilterSet(FilterSet):
    """Filters of services of an account."""

    id = NumberFilter()

    class Meta:
        model = Service


class ServiceListFilterSet(FilterSet):
    """The filters of the list in the browser."""

    label = PartFilter(label="Label")
    status = StatusFilter(label="Status")
    type = ChoiceFilter("service_type", label="Type")
    group = PartFilter("consultation_group", label="Group of contacts")

    class Meta:
        model = Service


class ComputeSettingsFilterSet(FilterSet):
    """Filters of instances of an account, with their settings."""

    id = NumberFilter()

    class Meta:
        model = Instance


class SSHAccessListFilterSet(FilterSet):
    """The filters of the list of SSH access in the browser."""

    label = PartFilter(label="Instance")

    class Meta:
        model = Instance
