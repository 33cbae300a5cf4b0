"""Domains with records of every type, for tests of their pages."""

from typing import Any

from django.test import Client

from accounts.models import Account, Event
from compute.models import Domain
from tests.compute.at_consoles import signed_in
from tests.factories import DomainFactory, GlobalGrantsFactory, GrantFactory, RecordFactory

RECORDS: tuple[dict[str, Any], ...] = (
    {"type": "A", "name": "www", "target": "203.0.113.7"},
    {"type": "AAAA", "name": "www", "target": "2001:db8::7", "ttl_sec": 3600},
    {"type": "CNAME", "name": "blog", "target": "web.example.net"},
    {"type": "MX", "name": "", "target": "mail.example.net", "priority": 10},
    {"type": "TXT", "name": "_dmarc", "target": "v=DMARC1; p=none"},
    {"type": "NS", "name": "sub", "target": "ns1.example.net"},
    {
        "type": "SRV", "name": "_sip._tcp.play", "service": "_sip", "protocol": "_tcp", "target": "sip.example.net",
        "priority": 20, "weight": 5, "port": 5060,
    },
    {"type": "CAA", "name": "", "target": "letsencrypt.org", "tag": "issue"},
    {"type": "PTR", "name": "7", "target": "web.example.net"},
)  # fmt: skip


def domain_with_records(account: Account, **fields: Any) -> Domain:
    """Return a master with a record of each type."""
    domain: Domain = DomainFactory(account=account, **fields)
    add_records(domain)
    return domain


def add_records(domain: Domain) -> None:
    """Give the domain one more record of each type."""
    for record in RECORDS:
        RecordFactory(domain=domain, **record)


def restricted_on(domain: Domain, level: str) -> Client:
    """Return the browser of a restricted user with this grant on the domain."""
    user = GlobalGrantsFactory(user__account=domain.account).user
    GrantFactory(user=user, entity_type="domain", entity_id=domain.pk, permissions=level)
    return signed_in(user)


def last_event(domain: Domain) -> str:
    """Return the action of the domain's newest event."""
    event = Event.objects.filter(entity_type="domain", entity_id=domain.pk).latest("pk")
    return event.action
