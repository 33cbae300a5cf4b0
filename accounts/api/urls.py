"""The paths of accounts' API."""

from django.urls import path

from accounts.api.events import EventViewSet
from accounts.api.profile import GrantsViewSet, ProfileViewSet
from accounts.api.tokens import PersonalTokenViewSet

urlpatterns = [
    path("account/events", EventViewSet.as_view({"get": "list"})),
    path("account/events/<id:id>", EventViewSet.as_view({"get": "retrieve"})),
    path("account/events/<id:id>/seen", EventViewSet.as_view({"post": "seen"})),
    path("account/events/<id:id>/read", EventViewSet.as_view({"post": "read"})),
    path("profile", ProfileViewSet.as_view({"get": "retrieve"})),
    path("profile/grants", GrantsViewSet.as_view({"get": "show"})),
    path("profile/tokens", PersonalTokenViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "profile/tokens/<id:id>",
        PersonalTokenViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
]
