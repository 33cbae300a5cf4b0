"""Copies of many records need few statements, because they lock the account."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.models import Domain, DomainRecord
from compute.services.domains import domains
from compute.services.domains.domains import RECORD_COLUMNS, DomainSpec, RecordRow
from config.errors import Invalid
from tests.world import World

pytestmark = pytest.mark.django_db
FIELDS = ("type", "name", "target", "priority", "weight", "port", "service", "protocol", "ttl_sec", "tag")


def created(world: World, label: str = "example.com") -> Domain:
    values = {"label": label, "type": "master", "soa_email": "admin@example.com"}
    return domains.create(world.actor, DomainSpec(values))


def row(kind: str, name: str, target: str = "192.0.2.1", **others: int | str) -> RecordRow:
    values = DomainRecord(type=kind, name=name, target=target, **others)
    return tuple(getattr(values, column) for column in RECORD_COLUMNS)


def records(number: int) -> list[RecordRow]:
    """Return records with every kind of column, in no alphabetical order."""
    return [
        row("CAA", "", 'ca.example; "é"', tag="issue"),
        row("SRV", "_sip._tcp", ".", priority=1, weight=2, port=3, service="_sip"),
        *(row("A", f"host{place}", ttl_sec=300) for place in range(number)),
    ]


def content(domain: Domain) -> list[tuple]:
    return list(domain.records.order_by("pk").values_list(*FIELDS))


def test_clone_has_the_records_in_their_order(world, monkeypatch):
    monkeypatch.setattr(domains, "ROWS_AT_ONCE", 3)
    source = created(world)
    domains.add_records(source, records(5))
    made = domains.clone(world.actor, source, "example.net")
    assert content(made) == content(source)
    assert [row[:3] for row in content(source)[:3]] == [
        ("CAA", "", 'ca.example; "é"'),
        ("SRV", "_sip._tcp", "."),
        ("A", "host0", "192.0.2.1"),
    ]
    assert not DomainRecord.objects.filter(created=None).exists()


def test_number_of_statements_hardly_depends_on_the_number_of_records(world):
    counts = []
    for number in (1, 2000):
        source = created(world, f"of-{number}.example.com")
        with CaptureQueriesContext(connection) as added:
            domains.add_records(source, records(number))
        with CaptureQueriesContext(connection) as cloned:
            domains.clone(world.actor, source, f"of-{number}.example.net")
        counts.append((len(added), len(cloned)))
    (few, cloned), (many, cloned_from_many) = counts
    assert (few, many) == (1, 3)
    assert cloned_from_many == cloned


def test_clone_is_refused_where_the_longest_name_is_too_long(world):
    source = created(world)
    long = ".".join(["a" * 31] * 3)
    names = ("b", long, "c")
    domains.add_records(source, [row("A", name) for name in names])
    zone = ".".join(["z" * 50] * 3)
    assert domains.clone(world.actor, source, f"{zone}.com").records.count() == 3
    with pytest.raises(Invalid, match="cannot be below this name"):
        domains.clone(world.actor, source, f"{zone}.zzz.com")
    assert Domain.objects.count() == 2
