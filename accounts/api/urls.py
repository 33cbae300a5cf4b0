"""The paths of accounts' API."""

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
from config.api.routers import Router

router = Router()
router.register_single("account", AccountViewSet, "account")
router.register("account/events", EventViewSet)
router.register("account/logins", AccountLoginViewSet, "account-login")
router.register("account/oauth-clients", OAuthClientViewSet, "oauth-client")
router.register_single("account/oauth-clients/<name:id>/thumbnail", ThumbnailViewSet, "thumbnail")
router.register_single("account/settings", SettingsViewSet, "settings")
router.register("account/users", UserViewSet, "user")
router.register_single("account/users/<name:id>/grants", UserGrantsViewSet, "user-grants")
router.register_single("profile", ProfileViewSet, "profile")
router.register_single("profile", SecondFactorViewSet, "second-factor")
router.register("profile/apps", AppViewSet, "app")
router.register("profile/devices", DeviceViewSet, "device")
router.register_single("profile/grants", GrantsViewSet, "grants")
router.register("profile/logins", LoginViewSet, "login")
router.register_single("profile/phone-number", PhoneViewSet, "phone")
router.register_single("profile/preferences", PreferencesViewSet, "preferences")
router.register_single("profile/security-questions", SecurityQuestionViewSet, "security-questions")
router.register("profile/sshkeys", SSHKeyViewSet, "sshkey")
router.register("profile/tokens", PersonalTokenViewSet, "token")
router.register("support/tickets", TicketViewSet)
router.register("support/tickets/<id:ticket_id>/replies", ReplyViewSet, "reply")

urlpatterns = router.urls
