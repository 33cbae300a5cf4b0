"""The lists of the account's users and of their logins."""

from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.filters.access import LoginListFilterSet
from accounts.filters.users import UserListFilterSet
from accounts.models import Login, User
from accounts.pages.base import AccountPage
from accounts.pages.objects import ObjectListPage, Tab
from accounts.pages.users.base import GRANTS, invitation_expires
from accounts.services.users import has_open_invitation
from config.pages.grants import UNRESTRICTED
from config.pages.lists import Column, ListView, Verb


def list_tabs(current: str) -> list[Tab]:
    """Return the tabs of both lists. `current` is the URL name of the page."""
    pages = (("users", "Users"), ("logins", "Logins"))
    return [Tab(label, reverse(page), page == current) for page, label in pages]


class UsersView(ObjectListPage):
    """``/home/users``: the users of the account."""

    model = User
    noun = "users"
    new = "user-new"
    grant = UNRESTRICTED
    template_name = "accounts/users.html"
    filterset_class = UserListFilterSet
    columns = (
        Column("Username", "username", Lower("username")),
        Column("Email", "email", Lower("email")),
        Column("Access", "restricted", F("restricted")),
        Column("Second factor"),
        Column("Last login", "last_login"),
        Column(""),
    )

    def get_queryset(self) -> QuerySet[User]:
        return User.objects.filter(account_id=self.actor.account_id)

    def writable(self, shown: list[User]) -> set[int]:
        return {user.pk for user in shown}

    def verbs_of(self, found: User) -> tuple[Verb, ...]:
        def verb(label: str, page: str) -> Verb:
            return Verb(label, reverse(page, args=[found.pk]))

        grants = (verb("Edit grants", GRANTS),) if found.restricted else ()
        access = verb("Make unrestricted" if found.restricted else "Make restricted", "user-access")
        return (*grants, verb("Edit name and email", "user-edit"), access, verb("Remove", "user-remove"))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = [row.object for row in context["rows"]]
        return {
            **context,
            "tabs": list_tabs("users"),
            "no_match": "No users match",
            "invited": {user.pk for user in shown if has_open_invitation(user)},
            "expires": {user.pk: invitation_expires(user) for user in shown},
        }


class LoginsView(AccountPage, ListView):
    """``/home/users/logins``: the successful logins of the account's users within the last 90 days."""

    template_name = "accounts/logins.html"
    grant = UNRESTRICTED
    filterset_class = LoginListFilterSet
    newest_first = True
    columns = (
        Column("Time", "time", F("pk")),
        Column("User", "user", Lower("username")),
        Column("Address", "ip"),
        Column("Access at that time"),
    )
    extra_context = {"heading": "Users and grants", "no_match": "No logins match"}

    def get_queryset(self) -> QuerySet[Login]:
        return Login.objects.recent().filter(account_id=self.actor.account_id)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "tabs": list_tabs("logins")}
