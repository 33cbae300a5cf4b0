"""The paths of accounts' API."""

from django.urls import path

from accounts.api.access import AccountLoginViewSet, AppViewSet, DeviceViewSet, LoginViewSet
from accounts.api.account import AccountViewSet, SettingsViewSet
from accounts.api.events import EventViewSet
from accounts.api.oauth_clients import OAuthClientViewSet, ThumbnailViewSet
from accounts.api.profile import GrantsViewSet, ProfileViewSet
from accounts.api.security import PhoneViewSet, PreferencesViewSet, SecondFactorViewSet, SecurityQuestionViewSet
from accounts.api.ssh_keys import SSHKeyViewSet
from accounts.api.tickets import ReplyViewSet, TicketViewSet
from accounts.api.tokens import PersonalTokenViewSet
from accounts.api.users import UserGrantsViewSet, UserViewSet

READ = {"get": "retrieve"}
LIST = {"get": "list"}
COLLECTION = {"get": "list", "post": "create"}
OBJECT = {"get": "retrieve", "put": "update", "delete": "destroy"}

urlpatterns = [
    path("account", AccountViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("account/events", EventViewSet.as_view(LIST)),
    path("account/events/<id:id>", EventViewSet.as_view(READ)),
    path("account/events/<id:id>/seen", EventViewSet.as_view({"post": "seen"})),
    path("account/events/<id:id>/read", EventViewSet.as_view({"post": "read"})),
    path("account/logins", AccountLoginViewSet.as_view(LIST)),
    path("account/logins/<id:id>", AccountLoginViewSet.as_view(READ)),
    path("account/oauth-clients", OAuthClientViewSet.as_view(COLLECTION)),
    path("account/oauth-clients/<name:id>", OAuthClientViewSet.as_view(OBJECT)),
    path("account/oauth-clients/<name:id>/reset-secret", OAuthClientViewSet.as_view({"post": "reset_secret"})),
    path("account/oauth-clients/<name:id>/thumbnail", ThumbnailViewSet.as_view({"get": "show", "put": "replace"})),
    path("account/settings", SettingsViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("account/settings/managed-enable", SettingsViewSet.as_view({"post": "enable_managed"})),
    path("account/users", UserViewSet.as_view(COLLECTION)),
    path("account/users/<name:id>", UserViewSet.as_view(OBJECT)),
    path("account/users/<name:id>/grants", UserGrantsViewSet.as_view({"get": "show", "put": "change"})),
    path("profile", ProfileViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("profile/apps", AppViewSet.as_view(LIST)),
    path("profile/apps/<id:id>", AppViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("profile/devices", DeviceViewSet.as_view(LIST)),
    path("profile/devices/<id:id>", DeviceViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("profile/grants", GrantsViewSet.as_view({"get": "show"})),
    path("profile/logins", LoginViewSet.as_view(LIST)),
    path("profile/logins/<id:id>", LoginViewSet.as_view(READ)),
    path("profile/phone-number", PhoneViewSet.as_view({"post": "send", "delete": "remove"})),
    path("profile/phone-number/verify", PhoneViewSet.as_view({"post": "verify"})),
    path("profile/preferences", PreferencesViewSet.as_view({"get": "show", "put": "replace"})),
    path("profile/security-questions", SecurityQuestionViewSet.as_view({"get": "show", "post": "answer_all"})),
    path("profile/sshkeys", SSHKeyViewSet.as_view(COLLECTION)),
    path("profile/sshkeys/<id:id>", SSHKeyViewSet.as_view(OBJECT)),
    path("profile/tfa-disable", SecondFactorViewSet.as_view({"post": "disable"})),
    path("profile/tfa-enable", SecondFactorViewSet.as_view({"post": "enable"})),
    path("profile/tfa-enable-confirm", SecondFactorViewSet.as_view({"post": "confirm"})),
    path("profile/tokens", PersonalTokenViewSet.as_view(COLLECTION)),
    path("profile/tokens/<id:id>", PersonalTokenViewSet.as_view(OBJECT)),
    path("support/tickets", TicketViewSet.as_view(COLLECTION)),
    path("support/tickets/<id:id>", TicketViewSet.as_view(READ)),
    path("support/tickets/<id:id>/attachments", TicketViewSet.as_view({"post": "attach"})),
    path("support/tickets/<id:id>/close", TicketViewSet.as_view({"post": "close"})),
    path("support/tickets/<id:ticket_id>/replies", ReplyViewSet.as_view(COLLECTION)),
]
