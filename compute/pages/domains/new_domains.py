"""Creating a domain: a master, a slave, or a master with the records of another name server."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.urls import reverse

from accounts.models import Event
from accounts.pages.base import signed_in
from accounts.pages.objects import NewObjectForm, NewObjectPage, Tab
from compute.models import Domain
from compute.pages.domains.base import ADDRESSES_HELP, EMAIL_HELP
from compute.serializers.domains.domains import DomainImportRequest, DomainRequest, spec_of
from compute.services.domains import domains, zone_import
from config.pages.forms import TagsField, TextField, WordsField

TABS = (
    ("domain-new", "Master"),
    ("domain-new-slave", "Slave"),
    ("domain-import", "Import"),
)
"""The pages that create a domain: the name of the URL, and the label of the tab."""


def name_field() -> TextField:
    plain = {"autocomplete": "off", "spellcheck": "false", "placeholder": "example.com", "maxlength": 255}
    return TextField(label="Domain", widget=forms.TextInput(attrs=plain))


class DomainForm(NewObjectForm):
    """A new domain of one type."""

    body = DomainRequest
    type: ClassVar[str]
    domain = name_field()
    tags = TagsField()
    field_order = ("domain", "soa_email", "master_ips", "tags")

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "type": self.type}


class MasterForm(DomainForm):
    type = Domain.Type.MASTER
    soa_email = TextField(label="Email of the administrator", help_text=EMAIL_HELP)


class SlaveForm(DomainForm):
    type = Domain.Type.SLAVE
    master_ips = WordsField(label="Addresses of the primary name servers", help_text=ADDRESSES_HELP)


class ImportForm(NewObjectForm):
    body = DomainImportRequest
    domain = name_field()
    remote_nameserver = TextField(
        label="Name server",
        help_text="A name or an address. Add :port if the port is not 53. "
        "The server must allow transfers (AXFR) to this platform.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "maxlength": 260}),
    )


class NewDomainPage(NewObjectPage):
    """A page that creates a domain, and redirects to its page."""

    template_name = "compute/domains/new.html"
    noun = "domains"
    grant = "add_domains"
    heading = "Create a domain"
    page: ClassVar[str]
    """The name of the page's URL."""
    made: Domain

    def get_success_url(self) -> str:
        return reverse("domain", args=[self.made.pk])

    def back_address(self) -> str:
        return reverse("domains")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tabs = [Tab(label, reverse(page), page == self.page) for page, label in TABS]
        return super().get_context_data(tabs=tabs, **kwargs)


class NewMasterView(NewDomainPage):
    """``/home/domains/new``: a domain whose records are on the platform."""

    page = "domain-new"
    form_class: type[DomainForm] = MasterForm
    operations = frozenset({"domains_create"})
    introduction = "The platform's name servers answer for the domain, with records that you enter here."
    verb = "Create domain"

    def get_initial(self) -> Mapping[str, Any]:  # type: ignore[override] # the form only reads it
        return {"soa_email": signed_in(self.request).email}

    def perform(self, form: DomainForm) -> str:
        self.made = domains.create(self.actor, spec_of(form.given), form.given.problems)
        return f"The domain {self.made} was created."


class NewSlaveView(NewMasterView):
    """``/home/domains/new/slave``: a domain whose records are copied from the customer's name servers."""

    page = "domain-new-slave"
    form_class = SlaveForm
    introduction = "The platform's name servers copy the domain from your own name servers, and answer for it too."


class ImportView(NewDomainPage):
    """``/home/domains/import``: a master with the records that another name server transfers.

    The message of the next page lists the records that were left out, and the changed values.
    """

    page = "domain-import"
    form_class = ImportForm
    lanes: ClassVar[Mapping[str, str]] = {"post": "imports"}
    operations = frozenset({"domains_import"})
    expensive = True
    introduction = (
        "Copies the domain with its records from the name server that answers for it now. "
        "NS records of the domain itself are not copied: the platform's own name servers replace them."
    )
    verb = "Import domain"

    def perform(self, form: ImportForm) -> str:
        given = form.given
        source = zone_import.Source(given.get("domain"), given.get("remote_nameserver"))
        self.made = zone_import.import_zone(self.actor, source, given.problems)
        about = {"entity_type": "domain", "entity_id": self.made.pk, "action": "dns_zone_import"}
        event = Event.objects.filter(account=self.actor.account_id, **about).latest("pk")
        return f"The domain {self.made} was imported. {event.message_on_wire}"
