"""Accounts: search, and a page with everything that belongs to one."""

from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from accounts.admin.panels import MOST, account_panels, events_panel, staff
from accounts.admin.tokens import token_rows
from accounts.models import Account, Grant, PersonalToken, User
from accounts.services.events import notify
from accounts.services.refs import account_ref
from accounts.services.suspension import set_account_active
from config.admin.display import BAD, GOOD, link, list_of, moment, pill
from config.admin.pages import Page, Panel
from config.admin.verbs import Verb


def suspend(request: HttpRequest, account: Account) -> str:
    set_account_active(staff(request, account.pk), account, False)
    return "suspended."


def activate(request: HttpRequest, account: Account) -> str:
    set_account_active(staff(request, account.pk), account, True)
    return "active."


@admin.register(Account)
class AccountPage(Page):
    """Company, email and extra addresses can be edited; everything else is looked at, or done by a verb."""

    list_display = ("id", "name", "email", "state", "users_count", "created")
    list_display_links = ("id", "name")
    list_filter = ("is_active",)
    search_fields = ("=pk", "^company", "^email")
    search_help_text = "Account id, username, or how a company or email begins."
    ordering = ("-id",)
    sortable_by = ("id", "created")
    fieldsets = (
        (None, {"fields": (("id", "state"), "company", "email", "extra_ipv4", "euuid", ("created", "updated"))}),
    )
    readonly_fields = ("id", "state", "euuid", "created", "updated")
    verbs = (
        Verb(
            "suspend", "Suspend", suspend, danger=True, offered=lambda account: account.is_active,
            confirm="Its users and tokens will be answered 401. Its instances run on.",
        ),
        Verb("activate", "Activate", activate, offered=lambda account: not account.is_active),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        users = User.objects.filter(account=OuterRef("pk")).order_by().values("account")
        counted = users.annotate(count=Count("pk")).values("count")
        return super().get_queryset(request).annotate(users_number=Coalesce(Subquery(counted), 0))

    def has_delete_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        """Never: it would take running instances' rows away under their jobs. Suspend instead."""
        return False

    def matches(self, term: str) -> Q:
        user = User.objects.filter(username=term, account__isnull=False).values("account_id")
        return super().matches(term) | Q(pk__in=user)

    def save_model(self, request: HttpRequest, obj: Account, form, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and form.changed_data:
            ref = account_ref(obj)
            notify(staff(request, obj.pk), "account_update", ref)

    def panels(self, request: HttpRequest, obj: Account) -> list[Panel]:
        return [
            *(build(obj) for build in account_panels),
            users_panel(obj),
            tokens_panel(obj),
            grants_panel(obj),
            events_panel(obj),
        ]

    @admin.display(description="Name", ordering="company")
    def name(self, account: Account) -> str:
        return str(account)

    @admin.display(description="State")
    def state(self, account: Account):
        return pill("active", GOOD) if account.is_active else pill("suspended", BAD)

    @admin.display(description="Users")
    def users_count(self, account: Account) -> int:
        return account.users_number  # type: ignore[attr-defined]


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
            for user in User.objects.filter(account=account).order_by("pk")[:MOST]
        ),
        more=list_of(User, account__id__exact=account.pk),
    )


def tokens_panel(account: Account) -> Panel:
    tokens = PersonalToken.objects.filter(user__account=account).select_related("user").defer("digest")
    return Panel.of(
        "Personal access tokens",
        ("Token", "Label", "User", "Scopes", "Expires"),
        token_rows(tokens.order_by("-pk")[:MOST], with_user=True),
        more=list_of(PersonalToken, user__account__id__exact=account.pk),
    )


def grants_panel(account: Account) -> Panel:
    grants = Grant.objects.filter(user__account=account).select_related("user").order_by("-pk")[:MOST]
    return Panel.of(
        "Grants on entities",
        ("User", "Entity", "Level"),
        ((link(grant.user), f"{grant.entity_type} {grant.entity_id}", grant.permissions) for grant in grants),
    )
