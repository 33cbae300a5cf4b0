"""Users: those of accounts, and the platform's staff."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import (
    AdminPasswordChangeForm,
    AdminUserCreationForm,
    ReadOnlyPasswordHashField,
    ReadOnlyPasswordHashWidget,
    UserChangeForm,
)
from django.contrib.auth.hashers import is_password_usable
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.safestring import SafeString

from accounts.actors import Actor
from accounts.admin import user_panels
from accounts.admin.filters import AccountFilter
from accounts.admin.grants import GrantsForm
from accounts.admin.panels import staff
from accounts.admin.token_links import HAND_OVER
from accounts.models import TrustedDevice, User
from accounts.services import access, attempts, external, outbox, second_factor, users
from accounts.services.events import record_event
from accounts.services.grants import set_grants
from accounts.services.refs import user_ref
from accounts.services.security_questions import QUESTIONS, is_right
from accounts.services.suspension import set_user_active
from config.admin.forms import READ_BY_CUSTOMERS, ReasonForm
from config.admin.pages import Page, Panel
from config.admin.roles import ROLES, is_role
from config.admin.tasks import Task
from config.admin.value_formats import moment
from config.admin.verbs import Verb
from config.display.statuses import BAD, GOOD, pill
from config.errors import Invalid

PRIVILEGES = ("is_staff", "is_superuser", "groups", "user_permissions")
OWN = ("username", "email", "restricted")
"""The fields that the service changes: it renames the user's rows, and keeps an account's last unrestricted
user.
"""


def suspend(request: HttpRequest, user: User, given: dict[str, Any]) -> str:
    set_user_active(account_actor(request, user), user, False, given["reason"])
    return f"suspended. {given['reason']}"


def activate(request: HttpRequest, user: User, given: dict[str, Any]) -> str:
    set_user_active(account_actor(request, user), user, True, given["reason"])
    return f"active. {given['reason']}"


def log_out(request: HttpRequest, user: User, given: dict[str, Any]) -> str:
    tokens = given["tokens"]
    access.log_out(account_actor(request, user), user, given["reason"], tokens=tokens)
    return f"logged out of every browser{', and all tokens ended' if tokens else ''}. {given['reason']}"


def account_actor(request: HttpRequest, user: User) -> Actor | None:
    """Return the staff user as an actor on the user's account. None for users on no account, who have no events."""
    return staff(request, user.account_id) if user.account_id else None


class ProofForm(ReasonForm):
    """A form for the reason of a change that staff make to a user's security."""

    def __init__(self, user: User, data: QueryDict | None = None):
        super().__init__(user, data)
        self.fields["reason"].help_text = (
            "How you verified the identity of the caller, such as: Answered two security questions. "
            f"{READ_BY_CUSTOMERS}"
        )


class LogOutForm(ReasonForm):
    """A form for the reason, and whether to end tokens and apps along with sessions."""

    tokens = forms.BooleanField(
        label="Revoke personal access tokens and the access of apps too",
        help_text="If ticked, programs that use these tokens stop working.",
        required=False,
    )


class AnswerForm(forms.Form):
    """A form for a caller's answer to one of the user's security questions, to check that the caller is the
    user.
    """

    question = forms.TypedChoiceField(coerce=int, help_text="Read this question to the caller.")
    response = forms.CharField(
        label="Answer of the caller",
        max_length=255,
        help_text="Type what the caller says. Upper and lower case and spaces do not matter. Nobody can read the"
        " stored answer.",
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )

    def __init__(self, user: User, data: QueryDict | None = None):
        super().__init__(data)
        asked = user.security_answers.values_list("question_id", flat=True)
        question = cast(forms.ChoiceField, self.fields["question"])
        question.choices = [(number, QUESTIONS[number]) for number in asked if number in QUESTIONS]


def check_answer(request: HttpRequest, user: User, given: dict[str, Any]) -> str:
    attempts.check("second_factor", f"answers:{user.pk}")
    if not is_right(user, given["question"], given["response"]):
        raise Invalid("The answer is wrong.", "response")
    return f"the answer is right. ({QUESTIONS[given['question']]})"


def turn_second_factor_off(request: HttpRequest, user: User, given: dict[str, Any]) -> str:
    message = f"Turned off by support: {given['reason']}"
    if not second_factor.disable(account_actor(request, user), user, message):
        raise Invalid("The second factor is already off.")
    return f"off. {given['reason']}"


def change_grants(request: HttpRequest, user: User, given: dict[str, Any]) -> str:
    on_account, on_entities = given["on_account"], given["on_entities"]
    number = len(on_account) + sum(map(len, on_entities.values()))
    if not number:
        raise Invalid("Nothing was changed.")
    try:
        set_grants(staff(request, user.account_id or 0), user, on_account, on_entities)
    except Invalid as error:
        if all(problem.field is None for problem in error.problems):
            raise
        raise Invalid("Some ids are not of this account. Nothing was changed.", "ids") from error
    return f"grants changed: {number}. They apply from the next request on."


def untie(request: HttpRequest, user: User) -> str:
    external.untie(account_actor(request, user), user)
    return f"a mail is being sent to {user.email}, with a link to choose a password."


def mail_password(request: HttpRequest, user: User) -> str:
    users.mail_password(account_actor(request, user), user)
    return f"a mail is being sent to {user.email}."


class NewUserForm(AdminUserCreationForm):
    class Meta:
        model = User
        fields = ("username", "email", "account", "restricted")


class PasswordForm(AdminPasswordChangeForm):
    """A form with which staff set a password.

    Like any new password, it forgets browsers, and ends the sign-in by a provider.
    """

    @transaction.atomic
    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit)
        TrustedDevice.objects.filter(user=user).delete()
        external.forget(user)
        return user


class PasswordState(ReadOnlyPasswordHashWidget):
    """Shows only whether there is a password. Django's widget shows the hash's algorithm and beginning."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        usable = bool(value) and is_password_usable(value)
        return {**context, "summary": [{"label": "A password is set." if usable else "No password is set."}]}


class UserForm(UserChangeForm):
    password = ReadOnlyPasswordHashField(label="Password", widget=PasswordState)

    class Meta:
        model = User
        fields = "__all__"


@admin.register(User)
class UserPage(Page, UserAdmin):
    """Django's page for users and for setting their passwords, for this project's users.

    Only a superuser may change staff users and `PRIVILEGES`: otherwise any staff user could become a superuser.
    """

    task = Task.CUSTOMERS
    labels: ClassVar[Mapping[str, str]] = {
        "is_staff": "Staff",
        "is_superuser": "Superuser",
        "ip_whitelist_enabled": "IP address allow list",
        "lish_auth_method": "Sign-in to consoles",
        "authentication_type": "Signs in by",
        "verified_phone_number": "Phone number",
        "email_notifications": "Mails about events",
    }
    help_texts: ClassVar[Mapping[str, str]] = {
        "username": (
            "The name for signing in, such as kari-n: 3 to 32 letters, digits, single hyphens and underscores."
        ),
        "email": "Mails to the user go to this address, such as kari@example.com.",
        "account": (
            "Type the id of the account, or the beginning of its company or email, and choose it from the list."
            " Leave"
            " it empty only for staff. It cannot change later."
        ),
        "restricted": (
            "If ticked, the user may do only what grants allow. If not, the user may do everything on the account."
        ),
        "is_staff": "If ticked, the user can sign in to this admin.",
        "is_superuser": "If ticked, the user may do everything in this admin, without roles or permissions.",
        "groups": "The roles of a staff user: support, operator or auditor, or a group of your own.",
        "user_permissions": "Permissions of this staff user in addition to those of the groups.",
        "ip_whitelist_enabled": "An older protection. The user can turn it off, and nobody can turn it on.",
    }
    form = UserForm
    add_form = NewUserForm
    change_password_form = PasswordForm
    list_display = ("username", "email", "account", "access", "state", "is_staff", "last_seen")
    list_filter = ("is_active", AccountFilter, "is_staff", "restricted")
    list_select_related = ("account",)
    search_fields = ("=pk", "^username", "^email")
    search_help_text = "User id, or how a username or email begins."
    ordering = ("-id",)
    sortable_by = ("username", "last_seen")
    autocomplete_fields = ("account",)
    filter_horizontal = ("groups", "user_permissions")
    fieldsets = (
        (None, {"fields": ("username", "state", "account", "email", "restricted", "password")}),
        ("Settings", {"fields": (
            ("timezone", "email_notifications"), ("verified_phone_number", "authentication_type"),
            ("ip_whitelist_enabled", "lish_auth_method"),
        )}),
        ("Staff", {"fields": ("is_staff", "is_superuser", "groups", "user_permissions"), "classes": ("collapse",)}),
        ("Dates", {"fields": (("date_joined", "last_seen"),)}),
    )  # fmt: skip
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": (
            "username", "email", "account", "restricted", "usable_password", "password1", "password2",
        )}),
    )  # fmt: skip
    readonly_fields = (
        "state", "verified_phone_number", "ip_whitelist_enabled", "lish_auth_method",
        "authentication_type", "timezone", "email_notifications", "date_joined", "last_seen",
    )  # fmt: skip
    fixed = ("account",)
    secret = ("password",)
    verbs = (
        Verb(
            "suspend", "Suspend", suspend, danger=True, form=ReasonForm, offered=lambda user: user.is_active,
            confirm="The user cannot sign in, and the tokens of the user are answered 401.",
        ),
        Verb("activate", "Activate", activate, form=ReasonForm, offered=lambda user: not user.is_active),
        Verb(
            "log-out", "Log out", log_out, danger=True, form=LogOutForm,
            confirm="Ends all sessions of the user, and forgets browsers: the next login needs the second factor"
            " again.",
        ),
        Verb(
            "grants", "Change grants", change_grants, form=GrantsForm, offered=lambda user: user.restricted,
            confirm="The permissions of the user. Only your changes are saved."
            " They apply from the next request on.",
        ),
        Verb(
            "check-answer", "Check an answer", check_answer, form=AnswerForm,
            offered=lambda user: user.security_answers.exists(),
            confirm="Verifies the identity of a caller. Ask the question, and type the answer. You have a few"
            " attempts.",
        ),
        Verb(
            "second-factor-off", "Turn second factor off", turn_second_factor_off, form=ProofForm, danger=True,
            offered=lambda user: user.two_factor_auth,
            confirm=(
                "After this, the password alone is enough to sign in. First verify that the user asks for this."
                " The user"
                " can turn a second factor on again."
            ),
        ),
        Verb(
            "untie", "End sign-in by provider", untie, danger=True,
            offered=lambda user: user.authentication_type != User.PASSWORD,
            confirm="Ends all sessions of the user, and mails the user a link to choose a password.",
        ),
        HAND_OVER,
        Verb(
            "mail-password", "Mail a password link", mail_password,
            offered=lambda user: user.is_active and user.authentication_type == User.PASSWORD,
            confirm="Mails the user a link to choose a new password. The link works once, for three days.",
        ),
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[Any, ...]:
        """Make the names of staff users read-only: events and replies on customers' accounts name them by value."""
        readonly = tuple(super().get_readonly_fields(request, obj))
        if obj is not None and obj.account_id is None:
            readonly += ("username", "restricted")
        return readonly if request.user.is_superuser else (*readonly, *PRIVILEGES)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        above = obj is not None and (obj.is_staff or obj.is_superuser) and not request.user.is_superuser
        return not above and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Refuse deletion: the admin's log of a staff user would be deleted too. Suspend instead."""
        return False

    def may_on(self, request: HttpRequest, verb: Verb, obj: Any) -> bool:
        return super().may_on(request, verb, obj) and self.has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: User, form: forms.ModelForm, change: bool) -> None:
        """Write only the changed fields. The service writes those in `OWN` if the user has an account."""
        if not change:
            super().save_model(request, obj, form, change)
            if obj.account_id:
                record_event(staff(request, obj.account_id), "user_create", user_ref(obj))
            return
        columns = {field.name for field in User._meta.concrete_fields}
        changed = {name: form.cleaned_data[name] for name in form.changed_data if name in columns}
        if obj.account_id:
            given = {name: changed.pop(name, None) for name in OWN}
            users.update(staff(request, obj.account_id), User.objects.get(pk=obj.pk), **given)
        if changed:
            obj.save(update_fields=list(changed))
        if "email" in changed:  # of staff, who are on no account
            outbox.warn_former(obj, form.initial["email"])

    @transaction.atomic
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Set a password as Django's page does, for superusers only: anyone who sets a password can sign in as that
        user.

        Other staff mail a link at which the user chooses a password. The user gets a mail and an event about the
        new password, as about one that the user chose.
        """
        if not request.user.is_superuser:
            raise PermissionDenied
        user = self.get_object(request, unquote(id))
        response = super().user_change_password(request, id, form_url)
        if user is None or not User.objects.filter(pk=user.pk).exclude(password=user.password).exists():
            return response
        outbox.warn(user, "password_changed")
        if actor := account_actor(request, user):
            record_event(actor, "password_reset", user_ref(user), message="Support set a password.")
        return response

    def panels(self, request: HttpRequest, obj: User) -> list[Panel]:
        return user_panels.all_of(request, obj)

    @admin.display(description="Last login", ordering="last_login")
    def last_seen(self, user: User) -> SafeString:
        return moment(user.last_login)

    @admin.display(description="Access")
    def access(self, user: User) -> str:
        return "restricted" if user.restricted else "unrestricted"

    @admin.display(description="State")
    def state(self, user: User) -> SafeString:
        return pill("active", GOOD) if user.is_active else pill("suspended", BAD)


admin.site.unregister(Group)


@admin.register(Group)
class GroupPage(Page, GroupAdmin):
    """Groups of staff, with their permissions in the admin. Each release resets the platform's own groups."""

    task = Task.CUSTOMERS
    help_texts: ClassVar[Mapping[str, str]] = {
        "name": "Such as billing. No other group may have it.",
        "permissions": "What staff in this group may view, add, change and delete in the admin.",
    }
    list_display = ("name", "purpose")
    search_fields = ("^name",)
    search_help_text = "How a group's name begins."
    sortable_by = ()

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return not is_role(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return not is_role(obj) and super().has_delete_permission(request, obj)

    @admin.display(description="Purpose")
    def purpose(self, group: Group) -> str:
        return ROLES.get(group.name, "a group of your own")
