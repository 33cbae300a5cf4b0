"""Users: those of accounts, and the platform's staff."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.http import HttpRequest

from accounts.admin.panels import MOST, staff
from accounts.admin.tokens import token_rows
from accounts.models import GlobalGrants, OAuthAccessToken, PersonalToken, User
from accounts.services.events import notify
from accounts.services.refs import user_ref
from accounts.services.suspension import set_user_active
from config.admin.display import BAD, GOOD, link, list_of, moment, pill
from config.admin.pages import Page, Panel
from config.admin.verbs import Verb

PRIVILEGES = ("is_staff", "is_superuser", "groups", "user_permissions")


def suspend(request: HttpRequest, user: User) -> str:
    _set_active(request, user, False)
    return "suspended."


def activate(request: HttpRequest, user: User) -> str:
    _set_active(request, user, True)
    return "active."


def _set_active(request: HttpRequest, user: User, active: bool) -> None:
    set_user_active(staff(request, user.account_id) if user.account_id else None, user, active)


class NewUserForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("username", "email", "account", "restricted")


class UserForm(UserChangeForm):
    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class UserPage(Page, UserAdmin):
    """Django's own page for users, with its way of setting passwords, for ours.

    Only a superuser may touch staff users or what makes one: else any of them could make themselves one.
    """

    form = UserForm
    add_form = NewUserForm
    list_display = ("username", "email", "account", "access", "state", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff", "restricted")
    list_select_related = ("account",)
    search_fields = ("=pk", "^username", "^email")
    search_help_text = "User id, or how a username or email begins."
    ordering = ("-id",)
    sortable_by = ("username", "last_login")
    autocomplete_fields = ("account",)
    filter_horizontal = ("groups", "user_permissions")
    fieldsets = (
        (None, {"fields": ("username", "state", "account", "email", "restricted", "password")}),
        ("Settings", {"fields": (
            ("timezone", "email_notifications"), ("two_factor_auth", "verified_phone_number"),
            ("ip_whitelist_enabled", "lish_auth_method", "authentication_type"),
        )}),
        ("Staff", {"fields": ("is_staff", "is_superuser", "groups", "user_permissions"), "classes": ("collapse",)}),
        ("Dates", {"fields": (("date_joined", "last_login"),)}),
    )  # fmt: skip
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": (
            "username", "email", "account", "restricted", "usable_password", "password1", "password2",
        )}),
    )  # fmt: skip
    readonly_fields = (
        "state", "two_factor_auth", "verified_phone_number", "ip_whitelist_enabled", "lish_auth_method",
        "authentication_type", "timezone", "email_notifications", "date_joined", "last_login",
    )  # fmt: skip
    fixed = ("username", "account")
    secret = ("password",)
    verbs = (
        Verb(
            "suspend", "Suspend", suspend, danger=True, offered=lambda user: user.is_active,
            confirm="They will not be able to log in, and their tokens will be answered 401.",
        ),
        Verb("activate", "Activate", activate, offered=lambda user: not user.is_active),
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        readonly = tuple(super().get_readonly_fields(request, obj))
        return readonly if request.user.is_superuser else (*readonly, *PRIVILEGES)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        above = obj is not None and (obj.is_staff or obj.is_superuser) and not request.user.is_superuser
        return not above and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Never: the admin's log would go with a staff user. Suspend instead."""
        return False

    def may_on(self, request: HttpRequest, verb: Verb, obj: Any) -> bool:
        return super().may_on(request, verb, obj) and self.has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: User, form, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.account_id and (form.changed_data or not change):
            ref = user_ref(obj)
            notify(staff(request, obj.account_id), "user_update" if change else "user_create", ref)

    def panels(self, request: HttpRequest, obj: User) -> list[Panel]:
        return [tokens_panel(obj), apps_panel(obj), keys_panel(obj), global_grants_panel(obj), grants_panel(obj)]

    @admin.display(description="Access")
    def access(self, user: User) -> str:
        return "restricted" if user.restricted else "unrestricted"

    @admin.display(description="State")
    def state(self, user: User):
        return pill("active", GOOD) if user.is_active else pill("suspended", BAD)


def tokens_panel(user: User) -> Panel:
    tokens = PersonalToken.objects.filter(user=user).defer("digest").order_by("-pk")[:MOST]
    return Panel.of(
        "Personal access tokens",
        ("Token", "Label", "Scopes", "Expires"),
        token_rows(tokens),
        more=list_of(PersonalToken, user__id__exact=user.pk),
    )


def apps_panel(user: User) -> Panel:
    tokens = (
        OAuthAccessToken.objects.filter(user=user).defer("token", "token_checksum").select_related("application")
    )
    return Panel.of(
        "OAuth access tokens",
        ("Token", "Client", "Scopes", "Expires"),
        (
            (link(token), link(token.application), token.scope, moment(token.expires))
            for token in tokens.defer("token", "token_checksum").order_by("-pk")[:MOST]
        ),
        more=list_of(OAuthAccessToken, user__id__exact=user.pk),
    )


def keys_panel(user: User) -> Panel:
    return Panel.of(
        "SSH keys",
        ("Label", "Key", "Added"),
        ((key.label, shortened(key.ssh_key), moment(key.created)) for key in user.ssh_keys.all()[:MOST]),
    )


def shortened(key: str) -> str:
    """A public key as people tell them apart: its kind, its last characters, its comment."""
    parts = key.split(None, 2)
    if len(parts) < 2:
        return key[:40]
    return " ".join([parts[0], f"…{parts[1][-16:]}", *parts[2:]])


def global_grants_panel(user: User) -> Panel:
    if not user.restricted:
        return Panel("Grants on the account", (), empty="Unrestricted: everything is allowed.")
    row = GlobalGrants.objects.filter(user=user).first()
    names = [field.name for field in GlobalGrants._meta.concrete_fields if not field.primary_key]
    given = [(name, getattr(row, name)) for name in names] if row else []
    return Panel.of(
        "Grants on the account",
        ("Grant", "Level"),
        ((name, "yes" if level is True else level) for name, level in given if level),
    )


def grants_panel(user: User) -> Panel:
    grants = user.grants.order_by("entity_type", "entity_id")[:MOST]
    return Panel.of(
        "Grants on entities",
        ("Entity", "Level"),
        ((f"{grant.entity_type} {grant.entity_id}", grant.permissions) for grant in grants),
    )
