"""The usage of the account: a month by kind and resource, the statements, and the mails about usage."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

from django import forms
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.text import capfirst
from django.views.generic import TemplateView
from django.views.generic.base import ContextMixin

from accounts.pages.base import AccountPage
from accounts.pages.objects import Tab
from compute.models import UsageInterval, UsageKind, UsageStatement
from compute.pages.usage_links import links_of
from compute.services.common.months import month_of, start_of
from compute.services.usage import clock, preferences
from compute.services.usage.export import COLUMNS, rows
from compute.services.usage.month_usage import MonthUsage, usage_of_month
from compute.services.usage.reports import TRANSFER, Group
from compute.services.usage.statements import KIND_LABELS
from config.display.integers import is_integer
from config.display.spreadsheets import harmless
from config.pages.forms import FlagField, TextField
from config.pages.grants import ACCOUNT_READ, ACCOUNT_WRITE, granted
from config.pages.views import ServiceFormView

MONTH = re.compile(r"(2[0-9]{3})-(0[1-9]|1[0-2])")
RESOURCES_ON_A_PAGE = 50
MAX_DIGITS = 6
"""Digits of a page number."""
UNITS = {
    UsageKind.VOLUME: ("GB", "GB"), UsageKind.BACKUP: ("GB", "GB"), UsageKind.IMAGE: ("GB", "GB"),
    UsageKind.EXTRA_IPV4: ("address", "addresses"), TRANSFER: ("GB", "GB"),
}  # fmt: skip
"""The units of one and of other quantities. Kinds without a unit are counted in pieces."""


class UsagePage(ContextMixin, AccountPage):
    """A page of the account's usage, below the same tabs."""

    grant = ACCOUNT_READ
    tab: ClassVar[str] = ""
    """The name of the URL of the page's tab."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        pages = [("usage", "Usage"), ("usage-statements", "Statements")]
        if granted(self.actor, ACCOUNT_WRITE):
            pages.append(("usage-settings", "Settings"))
        tabs = [Tab(label, reverse(page), page == self.tab) for page, label in pages]
        return super().get_context_data(tabs=tabs, **kwargs)


class _MonthPage(UsagePage):
    """A page of the month in the address, or of the present month. A month that has not begun does not exist."""

    tab = "usage"

    @cached_property
    def present(self) -> date:
        return month_of(clock.now())

    @cached_property
    def month(self) -> date:
        found = MONTH.fullmatch(self.kwargs["month"]) if "month" in self.kwargs else None
        month = date(int(found[1]), int(found[2]), 1) if found else self.present
        if "month" in self.kwargs and not (found and month <= self.present):
            raise Http404
        return month


@dataclass(frozen=True, slots=True)
class Row:
    """The sum of a kind or a resource, as the page shows it: a part of `total`.

    `address` is a page about the resource; empty if there is none.
    """

    group: Group
    name: str
    kind: str
    address: str
    total: Decimal

    @property
    def scale(self) -> Decimal:
        """The amount at the end of the row's bar."""
        return max(self.total, Decimal("0.01"))

    @property
    def quantity(self) -> str:
        """The average quantity with its unit: *40 GB*. For transfer, it is the sum."""
        group = self.group
        average = group.quantity_hours / group.hours if group.hours else group.quantity_hours
        text = f"{average:,.2f}".rstrip("0").rstrip(".")
        if group.kind not in UNITS:
            return text
        one, many = UNITS[group.kind]
        return f"{text} {one if text == '1' else many}"


class UsageView(_MonthPage, TemplateView):
    """``/home/usage`` and ``/home/usage/<month>``. ``?month=…``, of the form, redirects to the month."""

    template_name = "compute/usage.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        wanted = request.GET.get("month", "")
        if MONTH.fullmatch(wanted):
            return redirect("usage-month", wanted)
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        usage, page = self.usage()
        links = links_of(self.actor, usage.resources)
        return super().get_context_data(
            usage=usage,
            kinds=[_row(group, usage) for group in sorted(usage.kinds, key=lambda group: -group.amount)],
            resources=[_row(group, usage, links) for group in usage.resources],
            page=page,
            months=self.months(),
            is_present=self.month == self.present,
            **kwargs,
        )

    def usage(self) -> tuple[MonthUsage, Page]:
        """Return the usage with the resources of one page, and the page. Wrong page numbers are corrected."""
        text = self.request.GET.get("page", "")
        number = max(int(text[:MAX_DIGITS]), 1) if is_integer(text) else 1
        usage = self._resources(number)
        page = Paginator(range(usage.count), RESOURCES_ON_A_PAGE).get_page(number)
        return usage if page.number == number else self._resources(page.number), page

    def _resources(self, number: int) -> MonthUsage:
        offset = (number - 1) * RESOURCES_ON_A_PAGE
        return usage_of_month(self.actor.account_id, self.month, offset=offset, limit=RESOURCES_ON_A_PAGE)

    def months(self) -> list[date]:
        """Return the months to choose from, newest first: this one, the one before, and those with a statement.

        A month may lack a statement for some time after its end.
        """
        statements = UsageStatement.objects.filter(account=self.actor.account_id)
        found = {*statements.values_list("month", flat=True), self.present, self.month}
        before = month_of(start_of(self.present) - timedelta(days=1))
        if UsageInterval.objects.filter(account=self.actor.account_id, started__lt=start_of(self.present)).exists():
            found.add(before)
        return sorted(found, reverse=True)


class UsageFileView(_MonthPage):
    """``/home/usage/<month>/csv``: the lines of the month, with the columns of the operator's export."""

    def get(self, request: HttpRequest, month: str) -> HttpResponse:
        answer = HttpResponse(content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="usage-{self.month:%Y-%m}.csv"'
        writer = csv.writer(answer)
        writer.writerow(COLUMNS)
        for row in rows(self.month, self.actor.account_id):
            writer.writerow("" if value is None else harmless(value) for value in row.values().values())
        return answer


class StatementsView(UsagePage, TemplateView):
    """``/home/usage/statements``: the months that are over."""

    template_name = "compute/usage_statements.html"
    tab = "usage-statements"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = UsageStatement.objects.filter(account=self.actor.account_id).defer("lines").order_by("-month")
        return super().get_context_data(statements=list(found), **kwargs)


class SettingsForm(forms.Form):
    mail_statements = FlagField(label="Mail me the statement of each month")
    threshold = TextField(
        label="Mail me when a month costs more than this, in USD",
        help_text="Leave it empty for no mail.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off", "maxlength": 20}),
    )


class SettingsView(UsagePage, ServiceFormView):
    """``/home/usage/settings``: for users who may change the account."""

    template_name = "compute/usage_settings.html"
    tab = "usage-settings"
    grant = ACCOUNT_WRITE
    form_class = SettingsForm

    def get_initial(self) -> dict[str, Any]:
        found = preferences.settings_of(self.actor.account_id)
        return {"mail_statements": found.mail_statements, "threshold": found.threshold}

    def get_success_url(self) -> str:
        return reverse("usage-settings")

    def perform(self, form: SettingsForm) -> str:
        given = form.cleaned_data
        threshold = preferences.read_threshold(given["threshold"])
        preferences.update(self.actor, mail_statements=given["mail_statements"], threshold=threshold)
        return "The settings were saved."


def _row(group: Group, usage: MonthUsage, links: Mapping[tuple[str, int], str] | None = None) -> Row:
    plural = KIND_LABELS[group.kind]
    one = plural if group.kind == TRANSFER else UsageKind(group.kind).label
    if group.resource is None:
        return Row(group, capfirst(plural), one, "", usage.total)
    address = (links or {}).get((group.kind, group.resource), "")
    return Row(group, group.label or capfirst(plural), one, address, usage.total)
