"""Default labels never collide with a customer's labels, and cost no query if there is no collision."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event
from compute.models import Address, Instance, Job, NodeBalancer, PacketFilter, Reservation
from compute.services.common import labels
from compute.services.instances.clones import CloneSpec, clone
from compute.services.nodebalancers import nodebalancers
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from config.api.exceptions import violated
from regions.models import Region
from tests.compute.worker.scenarios import backed_up, deployed
from tests.factories import AccountFactory, InstanceFactory, NodeBalancerFactory
from tests.world import CAPABILITIES

pytestmark = pytest.mark.django_db

Make = Callable[..., Instance | NodeBalancer]


@pytest.fixture(params=["create", "from a backup", "clone", "balancer"])
def make(request, world, driver) -> Make:
    """Return a function that creates one, with or without a label. There is a parameter for each kind of
    create."""
    match request.param:
        case "create":
            return world.create
        case "from a backup":
            backup = backed_up(world, driver).backups.get()
            return lambda **label: world.create(image=None, root_pass=None, backup_id=backup.pk, **label)
        case "clone":
            source = deployed(world, driver)
            return lambda **label: clone(world.actor, source, CloneSpec(**label))
        case _:
            region = world.region.pk
            Region.objects.update(capabilities=[*CAPABILITIES, "NodeBalancers"])
            return lambda **label: nodebalancers.create(world.actor, NodeBalancerSpec(region=region, **label))


def default_of(row: Instance | NodeBalancer, further: int = 0) -> str:
    return f"{'compute' if isinstance(row, Instance) else 'balancer'}{row.pk + further}"


def take(row: Instance | NodeBalancer, *taken: str) -> None:
    """Give these labels to other rows of the account, as a customer would. No row gets a new key."""
    others = list(type(row).objects.filter(account_id=row.account_id))
    assert len(taken) <= len(others)
    for other, label in zip(others, taken, strict=False):
        type(row).objects.filter(pk=other.pk).update(label=label)


def filled(make: Make, number: int) -> Instance | NodeBalancer:
    """Create this number of rows with default labels, and return the last."""
    made = [make() for _ in range(number)]
    Instance.objects.filter(status="cloning").update(status="offline")
    Job.objects.all().delete()
    return made[-1]


def test_it_follows_from_the_key(make):
    made = make()
    assert made.label == default_of(made)


def test_a_default_label_that_is_taken_is_skipped(make):
    last = filled(make, 2)
    take(last, default_of(last, 1))

    made = make()

    made.refresh_from_db()
    assert made.label == default_of(made)
    assert made.pk == last.pk + 2


def test_where_the_next_is_taken_too_a_number_tells_them_apart(make):
    last = filled(make, 4)
    take(last, default_of(last, 1), default_of(last, 2), f"{default_of(last, 2)}-2", f"{default_of(last, 2)}-4")
    assert make().label == f"{default_of(last, 2)}-3"


def test_nothing_is_left_of_the_create_that_was_refused(make):
    """Addresses, capacity, events and jobs are those of the successful creates."""
    last = filled(make, 2)

    def added(**label: str) -> list[int]:
        rows = (Address.objects.exclude(instance=None, nodebalancer=None), Event.objects.all(), Job.objects.all())
        everything = (*rows, Reservation.objects.all(), PacketFilter.objects.all(), type(last).objects.all())
        before = [each.count() for each in everything]
        make(**label)
        Instance.objects.filter(status="cloning").update(status="offline")
        return [each.count() - number for each, number in zip(everything, before, strict=True)]

    chosen = added(label="chosen")
    take(last, default_of(last, 2))
    assert added() == chosen


def test_it_costs_no_query(make):
    def queries(**label: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            make(**label)
        Instance.objects.filter(status="cloning").update(status="offline")
        return len(captured)

    queries()
    assert queries() == queries(label="chosen")


def test_a_requested_label_that_is_taken_is_refused(make):
    last = filled(make, 2)
    take(last, default_of(last, 1))
    number = type(last).objects.count()
    with pytest.raises(IntegrityError) as refused:
        make(label=default_of(last, 1))
    assert "Label must be unique among your" in violated(refused.value)["reason"]
    assert type(last).objects.count() == number


def test_other_accounts_may_have_it(make):
    last = filled(make, 1)
    factory = InstanceFactory if isinstance(last, Instance) else NodeBalancerFactory
    made = factory(account=AccountFactory())
    type(last).objects.filter(pk=made.pk).update(label=default_of(made, 1))
    assert make().label == default_of(made, 1)


def test_a_default_label_that_was_just_taken_is_replaced(make, monkeypatch):
    """Another request takes the free label first."""
    last = filled(make, 2)
    taken = default_of(last, 1)
    take(last, taken)
    found = iter([taken, taken, "free-at-last"])
    monkeypatch.setattr(labels, "_free", lambda *given: next(found))
    assert make().label == "free-at-last"


def test_but_not_for_ever(make, monkeypatch):
    last = filled(make, 2)
    taken = default_of(last, 1)
    take(last, taken)
    asked = []
    monkeypatch.setattr(labels, "_free", lambda *given: asked.append(given) or taken)
    with pytest.raises(IntegrityError):
        make()
    assert len(asked) == labels.MAX_ATTEMPTS - 1


@pytest.mark.parametrize("wished", [None, "wished"])
def test_a_violation_of_another_constraint_is_not_tried_again(wished):
    refused = IntegrityError("refused")
    label = labels.NewLabel(Instance, 1, wished)
    assert label.of(7) == (wished or "compute7")
    with pytest.raises(IntegrityError) as raised:
        label.retry_after(refused)
    assert raised.value is refused


def test_the_create_that_another_constraint_refuses_runs_once(make, monkeypatch):
    refused, tried = IntegrityError("refused"), []

    def refuse(label, key):
        tried.append(key)
        raise refused

    monkeypatch.setattr(labels.NewLabel, "of", refuse)
    with pytest.raises(IntegrityError) as raised:
        make()
    assert raised.value is refused
    assert len(tried) == 1
