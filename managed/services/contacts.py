"""The contacts of an account, who are notified when services fail."""

from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.services.events import record_event
from config.db.rows import differing, lock, write
from config.errors import Missing
from managed.models import Contact
from managed.services.quotas import check_quota
from managed.services.refs import contact_ref

ACTION = "account_settings_update"
"""The action of events about contacts, credentials and changes of services: the contract's enum has no better
one.
"""


@transaction.atomic
def create(actor: Actor, values: dict[str, Any]) -> Contact:
    """Add a contact. `values` are its columns. Raises `Invalid` as `check_quota` does."""
    check_quota(actor, Contact)
    contact = Contact.objects.create(account_id=actor.account_id, **values)
    record_event(actor, ACTION, contact_ref(contact), message=f"The contact {contact.name} was added.")
    return contact


@transaction.atomic
def update(actor: Actor, contact: Contact, changes: dict[str, Any]) -> Contact:
    """Change the values that differ, and return the changed contact.

    Raises `Missing` if the contact was deleted meanwhile. Differences are taken from the locked row: of two
    concurrent requests the second does not report the first one's changes as its own.
    """
    locked = lock(Contact.objects.filter(pk=contact.pk))
    wanted = differing(locked, changes)
    if wanted:
        write(locked, wanted, "updated")
        record_event(actor, ACTION, contact_ref(locked), message=f"The contact {locked.name} was changed.")
    return locked


@transaction.atomic
def delete(actor: Actor, contact: Contact) -> None:
    """Delete a contact, who gets no more notifications. Raises `Missing` if another request was first."""
    ref = contact_ref(contact)
    if not Contact.objects.filter(pk=contact.pk).delete()[0]:
        raise Missing
    record_event(actor, ACTION, ref, message=f"The contact {contact.name} was deleted.")
