"""The paths of managed."""

from django.urls import path

from managed.api.compute_settings import ComputeSettingsViewSet
from managed.api.contacts import ContactViewSet
from managed.api.credentials import CredentialViewSet, KeyViewSet
from managed.api.issues import IssueViewSet
from managed.api.services import ServiceViewSet
from managed.api.stats import StatsViewSet

ONE = {"get": "retrieve", "put": "update", "delete": "destroy"}

urlpatterns = [
    path("managed/compute-settings", ComputeSettingsViewSet.as_view({"get": "list"})),
    path("managed/compute-settings/<id:id>", ComputeSettingsViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("managed/contacts", ContactViewSet.as_view({"get": "list", "post": "create"})),
    path("managed/contacts/<id:id>", ContactViewSet.as_view(ONE)),
    path("managed/credentials", CredentialViewSet.as_view({"get": "list", "post": "create"})),
    path("managed/credentials/sshkey", KeyViewSet.as_view({"get": "show"})),
    path("managed/credentials/<id:id>", CredentialViewSet.as_view(ONE)),
    path("managed/credentials/<id:id>/revoke", CredentialViewSet.as_view({"post": "revoke"})),
    path("managed/credentials/<id:id>/update", CredentialViewSet.as_view({"post": "replace"})),
    path("managed/issues", IssueViewSet.as_view({"get": "list"})),
    path("managed/issues/<id:id>", IssueViewSet.as_view({"get": "retrieve"})),
    path("managed/services", ServiceViewSet.as_view({"get": "list", "post": "create"})),
    path("managed/services/<id:id>", ServiceViewSet.as_view(ONE)),
    path("managed/services/<id:id>/disable", ServiceViewSet.as_view({"post": "disable"})),
    path("managed/services/<id:id>/enable", ServiceViewSet.as_view({"post": "enable"})),
    path("managed/stats", StatsViewSet.as_view({"get": "day"})),
]
