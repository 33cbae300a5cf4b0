"""The apps that the account has registered: the list, a new app, changes, the secret, the picture, and deletion."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.filters.oauth_clients import OAuthClientListFilterSet
from accounts.models import Authorization, OAuthClient
from accounts.pages.account_objects import AccountObjectPage
from accounts.pages.confirm import Confirmed
from accounts.pages.objects import NewObjectPage, ObjectFormPage, ObjectListPage
from accounts.serializers.oauth_clients import OAuthClientResource
from accounts.services import oauth_clients, thumbnails
from accounts.services.oauth_clients import ClientSpec
from config.errors import Invalid
from config.pages.forms import BodyForm, FlagField, TextField
from config.pages.grants import ACCOUNT_READ, ACCOUNT_WRITE, granted
from config.pages.lists import Column, Verb
from config.pages.navigation import NOUNS

NO_SECRET = "A public app has no secret."
NO_PICTURE = "Choose a PNG or JPEG file."


class AppForm(BodyForm):
    body = OAuthClientResource
    label = TextField(
        label="Label",
        help_text="The app's name. Users see it on the page that asks for their consent.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    redirect_uri = TextField(
        label="Redirect address",
        help_text="Users return to this address with a code, such as https://app.example/callback.",
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    public = FlagField(
        label="The app is public",
        help_text="A public app cannot keep a secret, for example in a browser or on a phone. It needs PKCE.",
    )


class EditAppForm(AppForm):
    partial = True
    blank = frozenset({"label", "redirect_uri"})


class AppsView(ObjectListPage):
    """``/home/apps``."""

    model = OAuthClient
    noun = "apps"
    new = "app-new"
    grant = ACCOUNT_READ
    template_name = "accounts/apps.html"
    filterset_class = OAuthClientListFilterSet
    columns = (
        Column("Label", "label", Lower("name")),
        Column("Client id"),
        Column("Redirect address"),
        Column("Kind"),
        Column("Status", "status"),
        Column(""),
    )

    def get_queryset(self) -> QuerySet[OAuthClient]:
        return OAuthClient.objects.visible_to(self.actor).for_api()

    def writable(self, shown: list[OAuthClient]) -> set[int]:
        return {app.pk for app in shown} if granted(self.actor, ACCOUNT_WRITE) else set()

    def verbs_of(self, found: OAuthClient) -> tuple[Verb, ...]:
        def verb(label: str, page: str, reason: str = "") -> Verb:
            return Verb(label, reverse(page, args=[found.pk]), reason)

        return (
            verb("Edit", "app-edit"),
            verb("Change picture", "app-picture"),
            verb("Delete", "app-delete"),
            verb("Reset secret", "app-secret", NO_SECRET if found.public else ""),
        )

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return {**context, "no_match": "No OAuth apps match", "may_create": granted(self.actor, ACCOUNT_WRITE)}


class NewAppView(NewObjectPage, Confirmed):
    """``/home/apps/new``. Only the answer to the form shows the secret."""

    operations = frozenset({"account_oauth_clients_create"})
    grant = ACCOUNT_WRITE
    noun = "apps"
    form_class = AppForm
    heading = "Register an app"
    introduction = (
        "The app can then ask users of any account for access. It gets only the access that they agree to."
    )
    verb = "Register"
    made: tuple[OAuthClient, str] | None = None

    def perform(self, form: AppForm) -> str:
        given = form.given
        spec = ClientSpec(given.get("name"), given.get("redirect_uris"), given.get("public", False))
        self.made = oauth_clients.create(self.actor, spec, given.problems)
        return ""

    def form_valid(self, form: forms.Form) -> HttpResponse:
        answer = super().form_valid(form)
        return answer if self.made is None else shown_once(self, *self.made)


def shown_once(page: NewObjectPage | ObjectFormPage, app: OAuthClient, secret: str) -> HttpResponse:
    """Return the page that shows the id and the secret of an app. No other page shows the secret."""
    noun = NOUNS["apps"]
    context = {"app": app, "secret": secret, "trail": [(noun.label, noun.address)]}
    return render(page.request, "accounts/app_secret.html", context)


class AppPage(AccountObjectPage):
    """A page about one app of the account."""

    model = OAuthClient
    noun = "apps"
    home = "app"
    parameter = "app_id"
    grant = ACCOUNT_READ
    write_grant = ACCOUNT_WRITE

    def get_queryset(self) -> QuerySet[OAuthClient]:
        return OAuthClient.objects.visible_to(self.actor).for_api()


class AppView(AppPage, TemplateView):
    """``/home/apps/<id>``."""

    template_name = "accounts/app.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        users = Authorization.objects.active().filter(client=self.object).count()
        return super().get_context_data(users=users, no_secret=NO_SECRET if self.object.public else "", **kwargs)


class AppFormPage(AppPage, ObjectFormPage, Confirmed):
    """A page with a form about an app. A changed redirect address or secret gives access, so it asks for the
    password.
    """

    grant = ACCOUNT_WRITE


class EditAppView(AppFormPage):
    """``/home/apps/<id>/edit``."""

    operations = frozenset({"account_oauth_clients_update"})
    form_class = EditAppForm
    heading = "Edit {page.object.name}"
    introduction = (
        "If you make the app public, it loses its secret, and its users must sign in again within two hours. If "
        "you make it confidential, reset its secret afterwards to get one."
    )
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        app = self.object
        return {"label": app.name, "redirect_uri": app.redirect_uris, "public": app.public}

    def perform(self, form: EditAppForm) -> str:
        oauth_clients.update(self.actor, self.object, form.given, form.given.problems)
        return "The app was saved."


class ResetSecretView(AppFormPage):
    """``/home/apps/<id>/secret``. Only the answer to the form shows the new secret."""

    operations = frozenset({"account_oauth_clients_reset_secret"})
    form_class = forms.Form
    dangerous = True
    heading = "Reset the secret of {page.object.name}"
    introduction = (
        "The current secret stops working at once. The app cannot get new tokens until you give it the new secret. "
        "Its existing tokens stay valid."
    )
    verb = "Reset secret"
    secret = ""

    def unavailable(self) -> str:
        return NO_SECRET if self.object.public else ""

    def perform(self, form: forms.Form) -> str:
        self.secret = oauth_clients.reset_secret(self.actor, self.object)
        return ""

    def form_valid(self, form: forms.Form) -> HttpResponse:
        answer = super().form_valid(form)
        return shown_once(self, self.object, self.secret) if self.secret else answer


class PictureForm(forms.Form):
    thumbnail = forms.FileField(
        label="Picture",
        help_text="A PNG or JPEG file of at most 1 MB and 4096 pixels a side.",
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg"}),
        error_messages={"required": NO_PICTURE, "empty": NO_PICTURE, "missing": NO_PICTURE},
    )


class PictureView(AppFormPage):
    """``/home/apps/<id>/picture``."""

    operations = frozenset({"account_oauth_clients_thumbnail_update"})
    throttle_scope = "thumbnail"
    template_name = "accounts/app_picture.html"
    form_class = PictureForm
    file_limit = "1 MB"
    heading = "Picture of {page.object.name}"
    introduction = "Users see the picture on the page that asks for their consent."
    verb = "Upload picture"

    def perform(self, form: PictureForm) -> str:
        sent = form.cleaned_data["thumbnail"]
        if sent.size > thumbnails.MAX_PICTURE_SIZE:
            raise Invalid(thumbnails.TOO_LARGE, "thumbnail")
        thumbnails.send(self.actor, self.object, sent.read())
        return "The picture was uploaded. It is shown here in a moment."


class DeleteAppView(AppFormPage):
    """``/home/apps/<id>/delete``."""

    operations = frozenset({"account_oauth_clients_destroy"})
    expensive = True
    form_class = forms.Form
    dangerous = True
    heading = "Delete {page.object.name}"
    introduction = "The app immediately loses its access to the data of all its users. This cannot be undone."
    verb = "Delete"

    def perform(self, form: forms.Form) -> str:
        oauth_clients.delete(self.actor, self.object)
        return f"{self.object.name} is deleted."

    def get_success_url(self) -> str:
        return reverse("apps")

    def back_address(self) -> str:
        return self.address("app")
