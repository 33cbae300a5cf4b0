"""Watched services for tests. Nothing here sends anything."""

import threading
from datetime import datetime, timedelta

from django.db import connection

from accounts.models import Account, Event, Message, Ticket, TicketReply
from managed.models import Contact, Issue, Measurement, Service
from managed.services import probing
from managed.services.probing import Outcome, Probe, claim
from tests.factories import AccountFactory, ContactFactory, ServiceFactory

UP = Outcome(milliseconds=12.5)
DOWN = Outcome(error="it answered 503")


def managed_account(**columns) -> Account:
    return AccountFactory(managed=True, **columns)


def watch(account: Account, **columns) -> Service:
    """Create a service that is pending and due."""
    service = ServiceFactory(account=account, **{"address": "http://203.0.113.9/", **columns})
    service.refresh_from_db()
    return service


def contact(account: Account, name: str, group: str | None = None) -> Contact:
    return ContactFactory(account=account, name=name, email=f"{name}@example.com", group=group)


def clock() -> datetime:
    """Return the time of the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cursor.fetchone()[0]


def make_due(*services: Service, ago: float = 1) -> None:
    """Make services due, as if their interval were over."""
    keys = [service.pk for service in services]
    Service.objects.filter(pk__in=keys).update(next_check_at=clock() - timedelta(seconds=ago))


def claim_all(*services: Service) -> list[Probe]:
    """Claim the checks of these services, and no others."""
    make_due(*services)
    keys = [service.pk for service in services]
    probes = probing.claim(1000)
    probing.release(probe for probe in probes if probe.service_id not in keys)
    return [probe for key in keys for probe in probes if probe.service_id == key]


def claim_one(service: Service) -> Probe:
    [probe] = claim_all(service)
    return probe


def settle(service: Service, *outcomes: Outcome) -> Service:
    """Check a service once for each outcome. Returns the service as it is afterwards."""
    for outcome in outcomes:
        assert probing.settle(claim_one(service), outcome)
    return Service.objects.get(pk=service.pk)


def claimed() -> list[int]:
    return [probe.service_id for probe in claim(1000)]


def mails() -> list[str]:
    """Return subjects and recipients of the mails in the outbox."""
    return sorted(f"{message.subject} > {message.recipient}" for message in Message.objects.all())


def events(*, of: Service | None = None) -> list[str]:
    found = Event.objects.order_by("pk")
    if of is not None:
        found = found.filter(entity_type="managed_service", entity_id=str(of.pk))
    return [f"{event.action}: {event.message}" for event in found]


def in_threads(action, count: int) -> None:
    threads = [threading.Thread(target=action, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def state() -> list:
    tables = (Service, Issue, Ticket, TicketReply, Event, Measurement, Message)
    return [list(table.objects.order_by("pk").values()) for table in tables]
