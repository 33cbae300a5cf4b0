"""Base classes of the pages of managed monitoring.

As in the API, only unrestricted users of accounts that have enabled managed monitoring can use it.
"""

from collections.abc import Collection
from functools import cached_property
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from accounts.models import Account
from accounts.pages.base import AccountPage, signed_in
from accounts.pages.objects import NewObjectPage, ObjectListPage, ObjectPage, Tab
from config.pages.grants import UNRESTRICTED
from config.pages.navigation import NOUNS

SERVICES = "monitoring"
TABS = {
    SERVICES: "Services",
    "monitoring-issues": "Issues",
    "monitoring-contacts": "Contacts",
    "monitoring-credentials": "Credentials",
    "monitoring-ssh": "SSH access",
    "monitoring-usage": "Usage",
}
"""The tabs: the names of their URLs, with their labels."""


class ManagedPage(AccountPage):
    """A page of managed monitoring. If the account has not enabled it, the page leads to the list of services.

    `list_page` names the URL of the tab that the page belongs to.
    """

    grant = UNRESTRICTED
    noun = "monitoring"
    list_page: ClassVar[str] = SERVICES

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not self.actor.restricted and self.is_off:
            return self.when_off()
        return super().dispatch(request, *args, **kwargs)

    @cached_property
    def is_off(self) -> bool:
        """Whether the user's account has not enabled managed monitoring. False for staff, who have no account."""
        account = signed_in(self.request).account_id
        return account is not None and not Account.objects.filter(pk=account, managed=True).exists()

    def when_off(self) -> HttpResponseBase:
        """Return the answer for an account that has not enabled managed monitoring."""
        return redirect(SERVICES)

    def tabs_of_noun(self) -> list[Tab]:
        return [Tab(label, reverse(page), page == self.list_page) for page, label in TABS.items()]

    def trail_to_list(self) -> list[tuple[str, str]]:
        """The noun and the tab, as pairs of label and address."""
        noun = NOUNS["monitoring"]
        trail = [(noun.label, noun.address)]
        return trail if self.list_page == SERVICES else [*trail, (TABS[self.list_page], reverse(self.list_page))]


class ManagedListPage(ManagedPage, ObjectListPage):
    """A tab with a list. Everyone who sees the list can change its objects."""

    def writable(self, shown: list[Any]) -> Collection[int]:
        return [row.pk for row in shown]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        label = TABS[self.list_page]
        texts = {"no_match": f"No {label[0].lower()}{label[1:]} match", "tab": label, "tabs": self.tabs_of_noun()}
        return {**super().get_context_data(**kwargs), **texts}


class NewManagedPage(ManagedPage, NewObjectPage):
    """A form for a new object, which leads to the tab of the object."""

    def get_success_url(self) -> str:
        return reverse(self.list_page)

    def back_address(self) -> str:
        return reverse(self.list_page)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "trail": self.trail_to_list()}


class ManagedObjectPage(ManagedPage, ObjectPage):
    """A page of one object. Without a `home`, it leads back to the tab of the object."""

    @cached_property
    def may_change(self) -> bool:
        return self.object is not None and not self.actor.restricted

    def back_address(self) -> str:
        return self.address(self.home) if self.home else reverse(self.list_page)

    def trail(self) -> list[tuple[str, str]]:
        return [*self.trail_to_list(), *self._own_pages()]
