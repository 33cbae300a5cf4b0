"""Incidents: the issue of an account while its services fail, the issue's ticket, and mails to contacts.

Call these functions in the transaction that changes the service, with the account locked first (`lock_account`).
The lock serialises the changes of an account: two services that fail at once share one issue, and the last of them
to recover closes it.
"""

from django.db.models import Q, QuerySet
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Ticket
from accounts.services import outbox, tickets
from accounts.services.events import record_event
from accounts.services.refs import ticket_ref
from accounts.services.tickets import TicketSpec
from managed.models import Contact, Issue, Service
from managed.services.contacts import ACTION
from managed.services.refs import service_ref

MAX_SUMMARY_LENGTH = 64
"""The maximum number of characters in a ticket's summary."""


def join(service: Service) -> Issue:
    """Add a failing service, for the reason in its `error`, to the account's open issue. Return the issue.

    If none is open, open one with a ticket. The contacts of the consultation group are notified in both cases.
    """
    platform = Actor.platform(service.account_id)
    issue = Issue.objects.filter(account_id=service.account_id, closed=None).first()
    if issue is not None and not _is_open(issue):
        _close(issue)  # the ticket was closed: this failure is another incident
        issue = None
    if issue is None:
        issue = _open(platform, service)
    else:
        _add(platform, issue, service)
    service.issue, service.status = issue, Service.Status.PROBLEM
    service.save(update_fields=["issue", "status"])
    record_event(platform, ACTION, service_ref(service), ticket_ref(issue.ticket), message=_sentence(service))
    _mail_contacts(service, "managed_problem", issue.ticket)
    return issue


def leave(service: Service, why: str) -> None:
    """Remove a service from its issue, if it has one. `why` is a sentence for the ticket.

    The last service to leave closes the issue and its ticket.
    """
    issue = service.issue
    if issue is None:
        return
    service.issue = None
    service.save(update_fields=["issue"])
    platform, is_open = Actor.platform(service.account_id), _is_open(issue)
    if is_open:
        tickets.reply(platform, issue.ticket, why)
    if issue.failing.exists():
        return
    _close(issue)
    if is_open:
        tickets.close(platform, issue.ticket)


def recover(service: Service) -> None:
    """Remove a service that is up again from its issue, and notify the contacts that got a mail of the failure."""
    ticket = service.issue.ticket if service.issue is not None else None  # staff deleted the issue
    leave(service, f"{service.label} is up again.")
    _mail_contacts(service, "managed_recovery", ticket)


def _open(platform: Actor, service: Service) -> Issue:
    summary = f"{service.label} is down"[:MAX_SUMMARY_LENGTH]
    ticket = tickets.open_ticket(platform, TicketSpec(summary, _sentence(service), about={}, managed_issue=True))
    return Issue.objects.create(account_id=service.account_id, ticket=ticket, services=[service.pk])


def _add(platform: Actor, issue: Issue, service: Service) -> None:
    if service.pk not in issue.services:
        issue.services.append(service.pk)
        issue.save(update_fields=["services"])
    tickets.reply(platform, issue.ticket, _sentence(service))


def _is_open(issue: Issue) -> bool:
    """Tell whether the issue's ticket is open. The ticket is locked until the end of the transaction."""
    issue.ticket = Ticket.objects.select_for_update(no_key=True).get(pk=issue.ticket_id)
    return issue.ticket.status != Ticket.Status.CLOSED


def _close(issue: Issue) -> None:
    """Close the issue. Failing services stay part of it: contacts get no new mail about them until they recover."""
    if issue.closed is None:
        issue.closed = now()
        issue.save(update_fields=["closed"])


def _sentence(service: Service) -> str:
    return f"{service.label} ({service.address}) is down: {service.error}"


def contacts_of(service: Service) -> QuerySet[Contact]:
    """Return the contacts of the service's consultation group.

    For a service without one, the contacts in no group.
    """
    group = service.consultation_group
    contacts = Contact.objects.filter(account_id=service.account_id)
    return contacts.filter(group=group) if group else contacts.filter(Q(group=None) | Q(group=""))


def _mail_contacts(service: Service, template: str, ticket: Ticket | None) -> None:
    """Mail each contact of the service's group. If there is none, mail the account's own address."""
    addresses = set(contacts_of(service).values_list("email", flat=True)) or {service.account.email}
    for address in sorted(filter(None, addresses)):
        outbox.mail_to(address, template, {"service": service, "ticket": ticket})
