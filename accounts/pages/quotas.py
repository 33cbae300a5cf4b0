"""The account's quotas: the limit and the use of each resource that costs money."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.views.generic import TemplateView

from accounts.display.quotas import QUOTA_GROUPS, QuotaRow
from accounts.pages.base import AccountPage
from accounts.services.quotas import Resources, resources_of
from config.pages.grants import ACCOUNT_READ, ACCOUNT_WRITE, granted

REQUEST = {
    "summary": "Higher quotas",
    "description": "Quotas and numbers: \nReason: ",
}
"""The beginning of the ticket by which a customer asks for more."""


class QuotasView(AccountPage, TemplateView):
    """``/home/quotas``."""

    template_name = "accounts/quotas.html"
    grant = ACCOUNT_READ

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            groups=list(groups_of(resources_of(self.actor.account_id))),
            may_ask=granted(self.actor, ACCOUNT_WRITE),
            ticket=f"{reverse('ticket-new')}?{urlencode(REQUEST)}",
            **kwargs,
        )


def groups_of(resources: Resources) -> Iterator[tuple[str, list[QuotaRow]]]:
    """Yield the names of the groups with their rows."""
    for group, quotas in QUOTA_GROUPS:
        yield group, [row_of(resources, name) for name, _ in quotas]


def row_of(resources: Resources, name: str) -> QuotaRow:
    return QuotaRow(name, resources.used[name], resources.limits[name])
