"""Trust levels and quotas of accounts: the panel of use and limits, filters, and verbs with a reason."""

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from accounts.admin.panels import account_verb, staff
from accounts.display.quotas import QUOTA_LABELS, QuotaRow, amount_of
from accounts.models import Account, ResourceUse
from accounts.quotas import RESOURCE_QUOTAS
from accounts.services import trust
from accounts.services.trust import QuotaLine
from config.admin.attention import Notice, watcher
from config.admin.forms import ReasonForm
from config.admin.pages import Panel, Row
from config.admin.value_formats import list_of, rendered
from config.admin.verbs import Verb
from config.display.quantities import MB_OF_GB
from config.display.statuses import BAD, BUSY, pill
from config.errors import Invalid

MAX_NUMBER = trust.MAX_LIMIT // MB_OF_GB
"""The largest number in the form, in GB or in pieces."""
INTERVALS = "intervals"
"""The key in `ResourceUse.difference` of the number of wrong intervals. The other keys are counters."""
NUMBER, NO_LIMIT, DEFAULT = "number", "none", "default"


class TrustLevelForm(ReasonForm):
    """The new trust level of an account."""

    example = "Paid all invoices for six months"

    level = forms.ChoiceField(
        label="Trust level",
        help_text="The limits of the level apply at once. Resources beyond the limits are not deleted.",
    )
    field_order = ("level", "reason")

    def __init__(self, obj: Account, data: QueryDict | None = None):
        super().__init__(obj, data)
        choices = [
            (name, name if label.lower() == name else f"{label} ({name})")
            for name, label in trust.trust_levels().items()
        ]
        self.fields["level"].choices = choices  # type: ignore[attr-defined]
        self.fields["level"].initial = obj.trust_level


class QuotaForm(ReasonForm):
    """The new limit of one quota of an account. Sizes are in GB."""

    example = "Asked for it in ticket 1234"

    quota = forms.ChoiceField(
        choices=[
            (name, f"{label} (GB)" if name in RESOURCE_QUOTAS and RESOURCE_QUOTAS[name].unit else label)
            for name, label in QUOTA_LABELS.items()
        ],
        help_text="The panel Resources on the account's page shows the use and the present limits.",
    )
    to = forms.ChoiceField(
        label="New limit",
        choices=((NUMBER, "a number"), (NO_LIMIT, "no limit"), (DEFAULT, "the limit of the trust level")),
        help_text="A number replaces the limit of the trust level for this account, and may be lower.",
    )
    limit = forms.IntegerField(
        label="Number",
        required=False,
        min_value=0,
        max_value=MAX_NUMBER,
        help_text="Such as 20. Sizes are in GB. Leave it empty if the new limit is not a number.",
    )
    field_order = ("quota", "to", "limit", "reason")


def change_level(request: HttpRequest, account: Account, given: dict[str, Any]) -> str:
    before = account.trust_level
    trust.set_trust_level(staff(request, account.pk), account, given["level"], given["reason"])
    return f"{before} -> {account.trust_level}. {given['reason']}"


def change_quota(request: HttpRequest, account: Account, given: dict[str, Any]) -> str:
    actor, name, number, reason = staff(request, account.pk), given["quota"], given["limit"], given["reason"]
    if number is None and given["to"] == NUMBER:
        raise Invalid("Type the new limit as a number.", "limit")
    if number is not None and given["to"] != NUMBER:
        raise Invalid("Leave this empty, or choose “a number” as the new limit.", "limit")
    if given["to"] == DEFAULT:
        trust.reset_quota(actor, account, name, reason)
        return f"{QUOTA_LABELS[name]}: the limit of the trust level applies again. {reason}"
    limit = None if number is None else number * _factor(name)
    trust.set_quota(actor, account, name, limit, reason)
    return f"{QUOTA_LABELS[name]}: {amount_of(name, limit)}. {reason}"


account_verb(Verb("trust-level", "Change trust level", change_level, form=TrustLevelForm))
account_verb(Verb("quota", "Change a quota", change_quota, form=QuotaForm))


def _factor(name: str) -> int:
    return MB_OF_GB if name in RESOURCE_QUOTAS and RESOURCE_QUOTAS[name].unit == "MB" else 1


# --- on the account's page --------------------------------------------------------------------------------


def differs(account: Account) -> bool:
    """Tell whether the last comparison found the account's counters wrong. Needs the account's use."""
    return bool(_use(account).difference)


def difference_panels(account: Account) -> list[Panel]:
    """Return the panel of counters that differ from the resources' rows, or nothing."""
    found = dict(_use(account).difference)
    if not found:
        return []
    intervals = found.pop(INTERVALS, None)
    rows = [
        Row((QUOTA_LABELS[name], amount_of(name, recorded), amount_of(name, expected)), BAD)
        for name, (recorded, expected) in found.items()
    ]
    if intervals is not None:
        rows.append(Row(("Resources that are metered incorrectly", intervals, 0), BAD))
    return [Panel("Counters that differ from the resources", ("Counter", "Recorded", "Expected"), rows)]


def resources_panel(account: Account) -> Panel:
    """The use and the limits of what costs money."""
    lines = {line.name: line for line in trust.resource_lines(account)}
    return Panel("Resources", ("Quota", "Limit from"), [_row(lines[name]) for name in QUOTA_LABELS])


def _row(line: QuotaLine) -> Row:
    row = QuotaRow(line.name, line.used or 0, line.limit)
    source = pill(line.source, BUSY) if line.is_own else line.source
    return Row((rendered("components/quota.html", row=row), source))


def _use(account: Account) -> ResourceUse:
    return getattr(account, "resource_use", None) or ResourceUse()


# --- filters of the list ----------------------------------------------------------------------------------


class TrustLevelFilter(admin.SimpleListFilter):
    title = "trust level"
    parameter_name = "level"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return list(trust.trust_levels().items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Account]) -> QuerySet[Account]:
        return queryset.filter(trust_level=self.value()) if self.value() else queryset


class CountersFilter(admin.SimpleListFilter):
    """Accounts whose counters differ from their resources."""

    title = "counters"
    parameter_name = "counters"
    DIFFER = "differ"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(self.DIFFER, "Differ from the resources")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Account]) -> QuerySet[Account]:
        if self.value() != self.DIFFER:
            return queryset
        return queryset.filter(pk__in=_differing().values("pk"))


@watcher
def counters(request: HttpRequest) -> Iterator[Notice]:
    """The number of accounts whose counters or usage intervals differ from their resources."""
    if not request.user.has_perm("accounts.view_account"):
        return
    if number := _differing().count():
        text = f"Accounts whose counters differ from their resources: {number}"
        yield Notice(text, list_of(Account, **{CountersFilter.parameter_name: CountersFilter.DIFFER}))


def _differing() -> QuerySet[ResourceUse]:
    return ResourceUse.objects.exclude(difference={})
