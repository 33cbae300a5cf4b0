"""The account as a whole: its contact data, its settings, and managed monitoring."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from django import forms
from django.urls import reverse
from django.views.generic import TemplateView
from django.views.generic.base import ContextMixin

from accounts.models import Account
from accounts.pages.base import AccountPage
from accounts.pages.objects import Tab
from accounts.serializers.account import AccountResource, SettingsResource
from accounts.services import account as services
from accounts.services.closing import GRANT
from config.pages.forms import BodyForm, FlagField, TextField
from config.pages.grants import ACCOUNT_READ, ACCOUNT_WRITE, granted
from config.pages.navigation import NOUNS
from config.pages.views import FormPage, ServiceFormView


class OwnAccountPage(ContextMixin, AccountPage):
    """A page of the user's account, below the tabs of the account."""

    grant = ACCOUNT_READ
    tab: ClassVar[str] = ""
    """The name of the URL of the page's tab."""

    @cached_property
    def account(self) -> Account:
        return Account.objects.get(pk=self.actor.account_id)

    def tabs(self) -> Iterator[Tab]:
        yield self._tab("account", "Contact data")
        if granted(self.actor, ACCOUNT_WRITE):
            yield self._tab("account-settings", "Settings")
        yield self._tab("account-transfer", "Transfer")

    def _tab(self, page: str, label: str) -> Tab:
        return Tab(label, reverse(page), page == self.tab)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        noun = NOUNS["account"]
        return super().get_context_data(
            account=self.account,
            tabs=self.tabs(),
            trail=[(noun.label, noun.address)],
            may_change=granted(self.actor, ACCOUNT_WRITE),
            **kwargs,
        )


class AccountView(OwnAccountPage, TemplateView):
    """``/home/account``: the contact data, and the way to the page that closes the account."""

    template_name = "accounts/account.html"
    tab = "account"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(may_close=granted(self.actor, GRANT), **kwargs)


class ContactForm(BodyForm):
    body = AccountResource
    partial = True
    company = TextField(label="Company")
    first_name = TextField(label="First name")
    last_name = TextField(label="Last name")
    email = TextField(
        label="Email",
        widget=forms.EmailInput(),
        help_text="The address for mails about the account, such as statements.",
    )
    phone = TextField(label="Phone number", widget=forms.TextInput(attrs={"inputmode": "tel"}))
    address_1 = TextField(label="Address")
    address_2 = TextField(label="Address, second line")
    zip = TextField(label="Postal code")
    city = TextField(label="City")
    state = TextField(label="State or province")
    country = TextField(label="Country", help_text="Two letters, such as DE or US.")
    tax_id = TextField(label="Tax number")

    def is_sent(self, name: str, value: Any) -> bool:
        return name in self.data


class EditAccountView(OwnAccountPage, FormPage):
    """``/home/account/edit``."""

    operations = frozenset({"account_update"})
    grant = ACCOUNT_WRITE
    form_class = ContactForm
    heading = "Edit contact data"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {name: getattr(self.account, name) for name in ContactForm.base_fields}

    def perform(self, form: ContactForm) -> str:
        services.update(self.actor, self.account, form.given, form.given.problems)
        return "The contact data was saved."

    def get_success_url(self) -> str:
        return reverse("account")


class SettingsForm(BodyForm):
    body = SettingsResource
    partial = True
    network_helper = FlagField(
        label="Network helper in new configuration profiles",
        help_text="At each boot, the helper writes the network configuration into the system of the instance.",
    )
    backups_enabled = FlagField(
        label="Backups for all new instances",
        help_text="Backups cost money. Existing instances do not change.",
    )


class SettingsView(OwnAccountPage, ServiceFormView):
    """``/home/account/settings``: settings for new objects, and managed monitoring."""

    template_name = "accounts/account_settings.html"
    operations = frozenset({"account_settings_update"})
    grant = ACCOUNT_WRITE
    tab = "account-settings"
    form_class = SettingsForm

    def get_initial(self) -> dict[str, Any]:
        return {name: getattr(self.account, name) for name in SettingsForm.base_fields}

    def perform(self, form: SettingsForm) -> str:
        services.update_settings(self.actor, self.account, form.checked())
        return "The settings were saved."

    def get_success_url(self) -> str:
        return reverse("account-settings")


class EnableManagedView(OwnAccountPage, FormPage):
    """``/home/account/managed``: asks before it enables managed monitoring, which customers cannot disable."""

    operations = frozenset({"account_settings_managed_enable"})
    grant = ACCOUNT_WRITE
    form_class = forms.Form
    heading = "Enable managed monitoring"
    introduction = (
        "The platform then checks the services that you name, and opens a ticket when one fails. To disable "
        "managed monitoring later, ask support."
    )
    verb = "Enable"

    def unavailable(self) -> str:
        return "Managed monitoring is enabled already." if self.account.managed else ""

    def perform(self, form: forms.Form) -> str:
        services.enable_managed(self.actor, self.account)
        return "Managed monitoring is enabled."

    def get_success_url(self) -> str:
        return reverse("account-settings")
