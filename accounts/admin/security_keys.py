"""Security keys of users: the list, and removing a lost key. The pages show no key's identifier or public key."""

from django.contrib import admin
from django.http import HttpRequest

from accounts.admin.filters import UsersAccountFilter
from accounts.admin.panels import staff
from accounts.models import SecurityKey
from accounts.services import security_keys
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.verbs import Verb


def remove(request: HttpRequest, key: SecurityKey) -> str:
    # A staff user's own key is on no account, and has no event.
    security_keys.remove(staff(request, key.user.account_id or 0), key)
    return "removed."


@admin.register(SecurityKey)
class SecurityKeyPage(ReadOnlyPage):
    task = Task.CUSTOMERS
    list_display = ("name", "user", "created", "last_used")
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    search_help_text = "The key's name, or a username."
    list_filter = (UsersAccountFilter,)
    link_filters = ("user__account__id__exact",)
    secret = ("credential", "public_key")
    ordering = ("-id",)
    sortable_by = ()
    fields = ("id", "name", "user", "created", "last_used")
    verbs = (
        Verb(
            "remove", "Remove", remove, danger=True, permission="delete",
            confirm="Nobody can sign in with this key any more. Codes of the app still work."
            " This cannot be undone.",
        ),
    )  # fmt: skip
