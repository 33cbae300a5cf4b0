"""Contacts: the list, and forms to add, edit and delete one."""

from typing import Any

from django import forms
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.pages.objects import ObjectConfirmationPage, ObjectFormPage
from config.pages.forms import BodyForm, TextField
from config.pages.lists import Column, Verb
from managed.filters import ContactListFilterSet
from managed.models import Contact
from managed.pages.base import ManagedListPage, ManagedObjectPage, NewManagedPage
from managed.serializers.contacts import ContactResource
from managed.services import contacts

LIST = "monitoring-contacts"
PHONES = {"phone.primary": "Telephone number", "phone.secondary": "Second telephone number"}
OPTIONAL = {*PHONES, "group"}
"""The fields whose empty input is sent as null."""


class ContactsView(ManagedListPage):
    """``/home/monitoring/contacts``."""

    template_name = "managed/contacts.html"
    model = Contact
    list_page = LIST
    new = "monitoring-contact-new"
    filterset_class = ContactListFilterSet
    columns = (
        Column("Name", "name", Lower("name")),
        Column("Email", "email"),
        Column("Telephone"),
        Column("Group", "group"),
        Column("Updated", "updated"),
        Column(""),
    )

    def verbs_of(self, found: Contact) -> tuple[Verb, ...]:
        verbs = {"edit": "Edit", "delete": "Delete"}
        return tuple(
            Verb(label, reverse(f"monitoring-contact-{verb}", args=[found.pk])) for verb, label in verbs.items()
        )


class ContactForm(BodyForm):
    body = ContactResource
    name = TextField(label="Name", help_text="2 to 64 characters.")
    email = TextField(
        label="Email", widget=forms.EmailInput(), help_text="Mails about problems go to this address."
    )
    group = TextField(
        label="Group",
        help_text="Services name a group of contacts. Contacts without a group get the mails of services that "
        "name none.",
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, label in PHONES.items():
            self.fields[name] = TextField(label=label, widget=forms.TextInput(attrs={"inputmode": "tel"}))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        return {name: None if name in OPTIONAL and not value else value for name, value in values.items()}

    def is_sent(self, name: str, value: Any) -> bool:
        return True


class NewContactView(NewManagedPage):
    """``/home/monitoring/contacts/new``."""

    operations = frozenset({"managed_contacts_create"})
    list_page = LIST
    form_class = ContactForm
    heading = "Add a contact"
    introduction = "The platform mails contacts when a service fails, and when it works again."
    verb = "Add contact"

    def perform(self, form: ContactForm) -> str:
        return f"The contact {contacts.create(self.actor, dict(form.checked()))} was added."


class ContactPage(ManagedObjectPage):
    model = Contact
    list_page = LIST


class EditContactView(ContactPage, ObjectFormPage):
    """``/home/monitoring/contacts/<id>/edit``."""

    operations = frozenset({"managed_contacts_update"})
    form_class = ContactForm
    heading = "Edit {page.object}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        phones = {name: getattr(self.object, name.replace(".", "_")) for name in PHONES}
        return {name: getattr(self.object, name) for name in ContactForm.base_fields} | phones

    def perform(self, form: ContactForm) -> str:
        changed = contacts.update(self.actor, self.object, dict(form.checked()))
        return f"The contact {changed} was saved."


class DeleteContactView(ContactPage, ObjectConfirmationPage):
    """``/home/monitoring/contacts/<id>/delete``."""

    operations = frozenset({"managed_contacts_destroy"})
    heading = "Delete {page.object}"
    introduction = "The contact gets no more mails about problems. This cannot be undone."
    verb = "Delete contact"

    def perform(self, form: forms.Form) -> str:
        contacts.delete(self.actor, self.object)
        return f"The contact {self.object} was deleted."
