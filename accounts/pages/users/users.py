"""The pages about one user: its facts, invitation, changes, and removal."""

from typing import Any

from django import forms
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.models import Login, SSHKey, User
from accounts.pages.confirm import Confirmed
from accounts.pages.objects import NewObjectPage
from accounts.pages.users.base import (
    GRANTS,
    OVERVIEW,
    UserFormPage,
    UserPage,
    invitation_expires,
)
from accounts.serializers.users import UserResource
from accounts.services import users
from config.pages.forms import BodyForm, ChoiceField, TextField
from config.pages.grants import UNRESTRICTED

LOGINS_SHOWN = 10
NAME_HELP = "3 to 32 letters, digits, dashes and underscores. The first and the last are letters or digits."
RESTRICTED, UNRESTRICTED_USER = "restricted", "unrestricted"


def username_field() -> TextField:
    attributes = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
    return TextField(label="Username", help_text=NAME_HELP, widget=forms.TextInput(attrs=attributes))


def email_field(help_text: str) -> TextField:
    return TextField(label="Email", help_text=help_text, widget=forms.EmailInput(attrs={"autocomplete": "off"}))


class AccessField(ChoiceField):
    """Restricted or not, as radio buttons. The value is that of the API: whether the user is restricted."""

    widget = forms.RadioSelect(attrs={"class": "form-check-input"})  # type: ignore[assignment] # not a select

    def to_python(self, value: Any) -> Any:
        chosen = super().to_python(value)
        return {RESTRICTED: True, UNRESTRICTED_USER: False}.get(chosen, chosen)


class InviteForm(BodyForm):
    body = UserResource
    username = username_field()
    email = email_field("The address gets a mail with a link to choose a password.")
    restricted = AccessField(
        label="Access",
        choices=[
            (RESTRICTED, "Restricted: no access at first. You add grants on the next page"),
            (UNRESTRICTED_USER, "Unrestricted: everything, other users included"),
        ],
        initial=RESTRICTED,
    )


class InviteUserView(NewObjectPage, Confirmed):
    """``/home/users/new``."""

    operations = frozenset({"account_users_create"})
    grant = UNRESTRICTED
    noun = "users"
    form_class = InviteForm
    heading = "Invite a user"
    introduction = "The user chooses a password, signs in with this name, and acts on your account."
    verb = "Send invitation"
    made: User | None = None

    def perform(self, form: InviteForm) -> str:
        given = form.given
        restricted = given.get("restricted", True)
        self.made = users.invite(self.actor, given.get("username"), given.get("email"), restricted, given.problems)
        return f"{self.made} is invited. A mail to {self.made.email} has a link to choose a password."

    def get_success_url(self) -> str:
        if self.made is None:
            return super().get_success_url()
        return reverse(GRANTS if self.made.restricted else OVERVIEW, args=[self.made.pk])


class UserView(UserPage, TemplateView):
    """``/home/users/<id>``: facts about the user, and its newest logins."""

    template_name = "accounts/user.html"
    tab = OVERVIEW

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = self.object
        return super().get_context_data(
            keys=list(SSHKey.objects.filter(user=user)),
            logins=list(Login.objects.recent().filter(user=user)[:LOGINS_SHOWN]),
            invited=users.has_open_invitation(user),
            invitation_expires=invitation_expires(user),
            last=users.LAST_UNRESTRICTED if users.is_last(user) else "",
            **kwargs,
        )


class EditForm(BodyForm):
    body = UserResource
    partial = True
    blank = frozenset({"username", "email"})
    username = username_field()
    email = email_field("If you change the address, the old address gets a mail.")


class EditUserView(UserFormPage):
    """``/home/users/<id>/edit``."""

    operations = frozenset({"account_users_update"})
    form_class = EditForm
    heading = "Edit {page.object}"
    introduction = "A new name is also shown in earlier events and tickets. The user signs in with the new name."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"username": self.object.username, "email": self.object.email}

    def perform(self, form: EditForm) -> str:
        given = form.given
        users.update(
            self.actor,
            self.object,
            username=given.get("username"),
            email=given.get("email"),
            restricted=None,
            problems=given.problems,
        )
        return "The user was saved."


class AccessForm(BodyForm):
    """The access that the user will have. The page says which, so that a form sent twice changes nothing."""

    body = UserResource
    partial = True
    restricted = AccessField(widget=forms.HiddenInput)


class AccessView(UserFormPage):
    """``/home/users/<id>/access``: makes an unrestricted user restricted, or a restricted user unrestricted."""

    operations = frozenset({"account_users_update"})
    form_class = AccessForm
    heading = "Make {page.object} {page.other}"
    introduction = "{page.consequences}"
    verb = "Change access"

    @property
    def other(self) -> str:
        return UNRESTRICTED_USER if self.object.restricted else RESTRICTED

    @property
    def consequences(self) -> str:
        if self.object.restricted:
            return (
                "An unrestricted user may do everything on the account: change and delete all objects, and invite "
                "and remove users, you included. The grants of the user are deleted."
            )
        return (
            "A restricted user has no grants at first, and sees no objects of the account. You can add grants on "
            "the next page."
        )

    def get_initial(self) -> dict[str, Any]:
        return {"restricted": self.other}

    def perform(self, form: AccessForm) -> str:
        user, wanted, problems = self.object, form.given.get("restricted"), form.given.problems
        users.update(self.actor, user, username=None, email=None, restricted=wanted, problems=problems)
        user.refresh_from_db(fields=["restricted"])
        return f"{user} is {RESTRICTED if user.restricted else UNRESTRICTED_USER}."

    def get_success_url(self) -> str:
        return self.address(GRANTS if self.object.restricted else OVERVIEW)

    def back_address(self) -> str:
        return self.address(OVERVIEW)


class RemoveUserView(UserFormPage):
    """``/home/users/<id>/remove``."""

    operations = frozenset({"account_users_destroy"})
    form_class = forms.Form
    dangerous = True
    heading = "Remove {page.object}"
    introduction = (
        "Removes the user with its tokens, SSH keys and grants. Programs with these tokens lose their access. "
        "Objects that the user has created stay. This cannot be undone."
    )
    verb = "Remove"

    def perform(self, form: forms.Form) -> str:
        users.remove(self.actor, self.object)
        return f"{self.object} is removed."

    def get_success_url(self) -> str:
        return reverse("users")

    def back_address(self) -> str:
        return self.address(OVERVIEW)
