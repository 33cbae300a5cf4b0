"""The filter of lists by account. Staff type the account, since there are too many to choose from."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR, ChangeList
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from accounts.models import Account, User
from config.display.integers import is_id

MAX_ACCOUNTS = 100
"""The maximum number of accounts of one company name whose rows are listed together."""


def accounts_called(term: str) -> list[Account]:
    """Return the accounts with this id, company, email or username, in any case, with one query."""
    if is_id(term):
        return list(Account.objects.filter(pk=int(term)))
    owners = User.objects.filter(username__iexact=term, account__isnull=False).values("account")
    named = Q(company__iexact=term) | Q(email__iexact=term) | Q(pk__in=owners)
    return list(Account.objects.filter(named).order_by("pk")[:MAX_ACCOUNTS])


class AccountFilter(admin.SimpleListFilter):
    """A filter for rows of the account whose id, company, email or username was typed.

    `path` is the relation that leads to the account. The links of other pages have ``<path>__id__exact`` in their
    addresses, which this filter shows and replaces.
    """

    title = "account"
    parameter_name = "account"
    template = "admin/account_filter.html"
    path = "account"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: ModelAdmin):
        super().__init__(request, params, model, model_admin)
        by_link = request.GET.get(self.linked, "")
        self.typed = (self.value() or by_link).strip()
        self.found = accounts_called(self.typed) if self.typed else []
        mine = {self.parameter_name, self.linked, PAGE_VAR, ERROR_FLAG}
        self.others = [(name, each) for name, found in request.GET.lists() if name not in mine for each in found]
        """The other filters of the list, which the form sends along."""

    @property
    def linked(self) -> str:
        return f"{self.path}__id__exact"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        everyone = changelist.get_query_string(remove=[self.parameter_name, self.linked])
        yield {"selected": not self.typed, "query_string": everyone, "display": "All"}
        if self.typed:
            names = ", ".join(str(account) for account in self.found[:3]) or f"no account found for {self.typed}"
            yield {"selected": True, "query_string": changelist.get_query_string(), "display": names}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        return queryset.filter(**{f"{self.path}__in": [account.pk for account in self.found]})


class UsersAccountFilter(AccountFilter):
    """Rows of an account's users."""

    path = "user__account"


class InstancesAccountFilter(AccountFilter):
    """Rows of an account's instances."""

    path = "instance__account"
