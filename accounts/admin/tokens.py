"""Personal access tokens: labels and prefixes to tell them apart, and revoking.

The pages do not read the digests.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now

from accounts.admin.filters import UsersAccountFilter
from accounts.admin.panels import staff
from accounts.models import PersonalToken
from accounts.services.tokens import revoke_token
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, moment
from config.admin.verbs import Verb
from config.display.statuses import BAD, pill


def revoke(request: HttpRequest, token: PersonalToken) -> str:
    # A staff user's own token is on no account, and has no event.
    revoke_token(staff(request, token.user.account_id or 0), token)
    return "revoked."


def expires(token: PersonalToken) -> SafeString | str:
    if token.expiry is None:
        return "never"
    if token.expiry <= now():
        return format_html("{} {}", moment(token.expiry), pill("expired", BAD))
    return moment(token.expiry)


def token_rows(tokens: Iterable[PersonalToken], *, with_user: bool = False) -> Iterator[tuple[Any, ...]]:
    """Return the cells of a panel's row for each token."""
    for token in tokens:
        name = link(token, f"{token.prefix}…")
        user = (link(token.user),) if with_user else ()
        yield (name, token.label, *user, token.scopes, expires(token))


@admin.register(PersonalToken)
class PersonalTokenPage(ReadOnlyPage):
    task = Task.CUSTOMERS
    list_display = ("beginning", "label", "user", "app", "scopes", "age", "expires")
    list_select_related = ("user", "client")
    list_filter = (UsersAccountFilter, ("expiry", admin.EmptyFieldListFilter))
    search_fields = ("=pk", "prefix", "user__username")
    search_help_text = "The token's first 16 characters, or a username."
    link_filters = ("user__account__id__exact",)
    secret = ("digest",)
    ordering = ("-id",)
    sortable_by = ()
    fields = ("id", "beginning", "label", "user", "app", "scopes", "created", "expires")
    verbs = (
        Verb(
            "revoke", "Revoke", revoke, danger=True, permission="delete",
            confirm="Programs with this token are answered 401 from now on. This cannot be undone.",
        ),
    )  # fmt: skip

    @admin.display(description="Token")
    def beginning(self, token: PersonalToken) -> str:
        return f"{token.prefix}…"

    def get_queryset(self, request: HttpRequest) -> QuerySet[PersonalToken]:
        return super().get_queryset(request).defer("client__client_secret", "client__thumbnail")

    @admin.display(description="Made by")
    def app(self, token: PersonalToken) -> SafeString | str:
        return link(token.client, token.client.name or token.client.client_id) if token.client else "the user"

    @admin.display(description="Expires")
    def expires(self, token: PersonalToken) -> str:
        return expires(token)
