"""Accounts: search, and a page with all objects of one account."""

from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.admin.panels import ROWS_SHOWN, account_panels, account_verb, account_verbs, events_panel, staff
from accounts.admin.quotas import CountersFilter, TrustLevelFilter, difference_panels, differs, resources_panel
from accounts.admin.tokens import token_rows
from accounts.models import Account, Grant, PersonalToken, User
from accounts.quotas import QUOTAS, RESOURCE_QUOTAS
from accounts.services import account as services
from accounts.services.suspension import set_account_active
from config.admin.forms import ReasonForm
from config.admin.pages import Page, Panel
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.admin.verbs import Verb
from config.display.statuses import BAD, GOOD, pill
from config.errors import Invalid

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

SETTINGS = ("network_helper", "backups_enabled")
QUOTA = "quota_"
"""The prefix of the names of the form's fields for quotas."""
MAX_LIMIT = 1_000_000
CLOSED = "closed"


def suspend(request: HttpRequest, account: Account, given: dict[str, Any]) -> str:
    set_account_active(staff(request, account.pk), account, False, given["reason"])
    return f"suspended. {given['reason']}"


def activate(request: HttpRequest, account: Account, given: dict[str, Any]) -> str:
    set_account_active(staff(request, account.pk), account, True, given["reason"])
    return f"active. {given['reason']}"


account_verb(
    Verb(
        "suspend",
        "Suspend",
        suspend,
        danger=True,
        form=ReasonForm,
        offered=lambda account: account.standing != "suspended",
        confirm="The users cannot sign in, and their tokens are answered 401. The domains of the account are not"
        " served any more, and its services are not checked. The instances keep running.",
    )
)
account_verb(
    Verb(
        "activate",
        "Restore",
        activate,
        form=ReasonForm,
        offered=lambda account: not account.is_active,
        confirm="The users can sign in again, and their tokens and apps work again.",
    )
)


class StandingFilter(admin.SimpleListFilter):
    """Accounts that are active, that staff suspended, or that their users closed."""

    title = "status"
    parameter_name = "status"
    WHERE: ClassVar[dict[str, Q]] = {
        "active": Q(is_active=True),
        "suspended": Q(is_active=False, closed=None),
        CLOSED: Q(closed__isnull=False),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.capitalize()) for name in self.WHERE]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Account]) -> QuerySet[Account]:
        wanted = self.WHERE.get(self.value() or "")
        return queryset if wanted is None else queryset.filter(wanted)


class AccountForm(forms.ModelForm):
    class Meta:
        model = Account
        fields = (
            "company", "email", "first_name", "last_name", "address_1", "address_2", "city", "state", "zip",
            "country", "phone", "tax_id", "total_payments", "extra_ipv4", "network_helper", "backups_enabled",
        )  # fmt: skip
        labels: ClassVar[dict[str, str]] = {
            "total_payments": "Paid in total (USD)",
            "tax_id": "Tax id",
            "zip": "Postal code",
            "network_helper": "Network helper",
            "backups_enabled": "Backups for new instances",
            "euuid": "EUUID",
        }
        help_texts: ClassVar[dict[str, str]] = {
            "company": "Such as Example Ltd. If empty, pages show the email address instead.",
            "email": "Mails about the account go to this address, such as ops@example.com.",
            "country": "Two letters of ISO 3166, such as NO. It may be empty.",
            "phone": "With the country code, such as +47 22 12 34 56. It may be empty.",
            "tax_id": "The number for taxes, such as NO123456789MVA. It may be empty.",
            "total_payments": "Such as 25.00. From 25.00 on, users of the account see a referral code.",
            "extra_ipv4": (
                "The number of public IPv4 addresses that the account may have in addition to one for each"
                " instance,"
                " such as 4."
            ),
            "network_helper": (
                "If ticked, the network helper is on in new configuration profiles: at boot, the host writes the"
                " network settings of the system on the disk."
            ),
            "backups_enabled": "If ticked, all new instances have backups.",
            "managed": "Whether managed monitoring is on. The customer turns it on.",
            "trust_level": "Sets the limits of what costs money. The button Change trust level changes it.",
            "euuid": "An identifier of the account for other systems. It never changes.",
        }

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, quota in QUOTAS.items():
            self.initial.setdefault(QUOTA + name, self.instance.quotas.get(name, ""))
            self.fields[
                QUOTA + name
            ].help_text = (
                f"Such as {2 * getattr(settings, quota.setting)}. If empty, {getattr(settings, quota.setting)}."
            )

    def own_quotas(self) -> dict[str, int]:
        """Return the quotas of the account that differ from the settings, by name."""
        given = {name: self.cleaned_data[QUOTA + name] for name in QUOTAS}
        return {name: most for name, most in given.items() if most is not None}

    def clean_country(self) -> str:
        try:
            return services.country_of(self.cleaned_data["country"])
        except Invalid as error:
            raise forms.ValidationError("Type two letters of ISO 3166, such as NO.") from error


AccountForm.declared_fields.update(
    {
        QUOTA + name: forms.IntegerField(
            label=f"{quota.owner.removeprefix('An ').removeprefix('A ').capitalize()}: {quota.nouns}",
            required=False,
            min_value=0,
            max_value=MAX_LIMIT,
        )
        for name, quota in QUOTAS.items()
    }
)


class Counted(TypedDict):
    users_number: int


@admin.register(Account)
class AccountPage(Page):
    """The page of an account.

    The customer's name and address, settings and extra addresses can be edited. All other fields are read-only, and
    all other changes are verbs.
    """

    task = Task.CUSTOMERS
    form = AccountForm
    list_display = ("id", "name", "email", "status", "trust_level", "users_count", "opened")
    list_display_links = ("id", "name")
    list_filter = (StandingFilter, TrustLevelFilter, CountersFilter)
    search_fields = ("=pk", "^company", "^email")
    search_help_text = "Account id, username, or how a company or email begins."
    ordering = ("-id",)
    sortable_by = ("id", "opened")
    fieldsets = (
        (None, {"fields": (("id", "status"), "trust_level", "company", "email")}),
        ("Customer", {"fields": (
            ("first_name", "last_name"), ("phone", "tax_id"), ("address_1", "address_2"), ("zip", "city"),
            ("state", "country"), "total_payments",
        )}),
        ("Defaults for new objects", {"fields": ("extra_ipv4", "network_helper", "backups_enabled")}),
        (
            "Quotas of objects",
            {
                "fields": tuple(QUOTA + name for name in QUOTAS),
                "classes": ("collapse",),
                "description": (
                    "The maximum numbers for this account. A number replaces the default. The quotas of what"
                    " costs money are in the panel Resources."
                ),
            },
        ),
        ("More", {"fields": ("managed", "euuid", ("opened", "updated_at"))}),
    )  # fmt: skip
    readonly_fields = (
        "id",
        "status",
        "closing",
        "comment",
        "trust_level",
        "managed",
        "euuid",
        "opened",
        "updated_at",
    )
    verbs = account_verbs

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        users = User.objects.filter(account=OuterRef("pk")).order_by().values("account")
        counted = users.annotate(count=Count("pk")).values("count")
        rows = super().get_queryset(request).select_related("resource_use")
        return rows.annotate(users_number=Coalesce(Subquery(counted), 0))

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the columns. The list of closed accounts also shows when each was closed, and by whom."""
        closed = request.GET.get(StandingFilter.parameter_name) == CLOSED
        return (*self.list_display, "closing") if closed else self.list_display

    def get_fieldsets(self, request: HttpRequest, obj: Account | None = None) -> Any:
        """Return the sections. The page of a closed account also shows who closed it, when and why."""
        sections = super().get_fieldsets(request, obj)
        if obj is None or obj.closed is None:
            return sections
        (heading, options), *others = sections
        first, *rest = options["fields"]
        return ((heading, {**options, "fields": (first, ("closing", "comment"), *rest)}), *others)

    def has_delete_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        """Refuse deletion: it would remove the rows of running instances under their jobs. Suspend instead."""
        return False

    def matches(self, term: str) -> Q:
        user = User.objects.filter(username=term, account__isnull=False).values("account_id")
        return super().matches(term) | Q(pk__in=user)

    def save_model(self, request: HttpRequest, obj: Account, form: AccountForm, change: bool) -> None:
        """Save through the services, which write the values that differ, and events."""
        if not change:
            obj.quotas = form.own_quotas()
            super().save_model(request, obj, form, change)
            return
        actor, kept = staff(request, obj.pk), services.lock_account(obj.pk)
        changes = {name: form.cleaned_data[name] for name in form.changed_data if not name.startswith(QUOTA)}
        of_resources = {name: limit for name, limit in kept.quotas.items() if name in RESOURCE_QUOTAS}
        changes["quotas"] = of_resources | form.own_quotas()
        own = {name: changes.pop(name) for name in SETTINGS if name in changes}
        services.update(actor, kept, changes)
        services.update_settings(actor, kept, own)

    def panels(self, request: HttpRequest, obj: Account) -> list[Panel]:
        return [
            *difference_panels(obj),
            resources_panel(obj),
            *(build(obj) for build in account_panels),
            users_panel(obj),
            tokens_panel(obj),
            grants_panel(obj),
            events_panel(obj),
        ]

    @admin.display(description="Name", ordering="company")
    def name(self, account: Account) -> str:
        return str(account)

    @admin.display(description="Status")
    def status(self, account: Account) -> SafeString:
        state = pill(account.standing, GOOD if account.is_active else BAD)
        return format_html("{} {}", state, pill("counters differ", BAD)) if differs(account) else state

    @admin.display(description="Closed", ordering="closed")
    def closing(self, account: Account) -> SafeString | str:
        """When a user closed the account, and who. Empty for other accounts."""
        if account.closed is None:
            return ""
        return format_html("{} by {}", moment(account.closed), account.closed_by)

    @admin.display(description="Comment")
    def comment(self, account: Account) -> str:
        return account.closing_comment or "–"

    @admin.display(description="Created", ordering="created")
    def opened(self, account: Account) -> SafeString:
        return moment(account.created)

    @admin.display(description="Updated")
    def updated_at(self, account: Account) -> SafeString:
        return moment(account.updated)

    @admin.display(description="Users")
    def users_count(self, account: "WithAnnotations[Account, Counted]") -> int:
        return account.users_number


def users_panel(account: Account) -> Panel:
    return Panel.of(
        "Users",
        ("Username", "Email", "Access", "State", "Last login"),
        (
            (
                link(user),
                user.email,
                "restricted" if user.restricted else "unrestricted",
                pill("active", GOOD) if user.is_active else pill("suspended", BAD),
                moment(user.last_login),
            )
            for user in User.objects.filter(account=account).order_by("pk")[:ROWS_SHOWN]
        ),
        more=list_of(User, account__id__exact=account.pk),
    )


def tokens_panel(account: Account) -> Panel:
    tokens = PersonalToken.objects.filter(user__account=account).select_related("user").defer("digest")
    return Panel.of(
        "Personal access tokens",
        ("Token", "Label", "User", "Scopes", "Expires"),
        token_rows(tokens.order_by("-pk")[:ROWS_SHOWN], with_user=True),
        more=list_of(PersonalToken, user__account__id__exact=account.pk),
    )


def grants_panel(account: Account) -> Panel:
    grants = Grant.objects.filter(user__account=account).select_related("user").order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Grants on entities",
        ("User", "Entity", "Level"),
        ((link(grant.user), f"{grant.entity_type} {grant.entity_id}", grant.permissions) for grant in grants),
    )
