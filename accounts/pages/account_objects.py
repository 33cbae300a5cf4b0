"""Base classes of the pages about objects that belong to the account as a whole, such as its users and apps.

No user has a grant on one of these objects. The account-level grant of a page decides.
"""

from functools import cached_property
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse

from accounts.pages.objects import ObjectPage
from config.pages.grants import granted


class AccountObjectPage(ObjectPage):
    """A page about one object of the account. Objects of other accounts are answered 404."""

    parameter: ClassVar[str]
    """The name of the key in the page's path. It is also in the context, so it must be no name of a template."""
    write_grant: ClassVar[str]
    """The grant of the operations that change the object."""

    def get_queryset(self) -> QuerySet[Any]:
        return self.model._default_manager.filter(account_id=self.actor.account_id)

    @cached_property
    def object(self) -> Any:
        found = self.get_queryset().filter(pk=self.kwargs[self.parameter]).first()
        if found is None:
            raise Http404
        return found

    @cached_property
    def may_change(self) -> bool:
        return granted(self.actor, self.write_grant)

    def address(self, page: str) -> str:
        return reverse(page, args=[self.kwargs[self.parameter]])
