"""Statistics of load balancers, as the balancing hosts report them."""

from datetime import UTC, datetime, timedelta

import pytest

from compute.models import (
    NodeBalancer,
    NodeBalancerMeter,
    NodeBalancerNode,
    NodeBalancerSample,
    NodeBalancerTransfer,
)
from compute.services.common.months import month_of
from compute.services.nodebalancers.stats import Growth, record, see, thin
from compute.worker.tasks import thin_samples
from tests.factories import NodeBalancerFactory, NodeBalancerNodeFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 4, 5, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def balancer() -> NodeBalancer:
    return NodeBalancerFactory()


def samples() -> list[tuple]:
    rows = NodeBalancerSample.objects.order_by("at")
    return list(rows.values_list("at", "connections", "traffic_in", "traffic_out"))


def transfer() -> dict:
    return {row.month.month: (row.received, row.sent) for row in NodeBalancerTransfer.objects.all()}


def test_five_minutes_make_a_sample_of_all_hosts(balancer):
    record({balancer.pk: Growth()}, AT)
    record({balancer.pk: Growth(10, 1000, 50)}, AT + MINUTE)
    record({balancer.pk: Growth(20, 500, 100)}, AT + MINUTE)
    assert samples() == []
    record({balancer.pk: Growth(7, 70, 700)}, AT + 4 * MINUTE)
    assert samples() == [(AT - MINUTE, 30 / 240, 1500 * 8 / 240, 150 * 8 / 240)]
    meter = NodeBalancerMeter.objects.get()
    assert (meter.since, meter.connections, meter.received, meter.sent) == (AT + 4 * MINUTE, 7, 70, 700)


def test_transfer_is_summed_by_months_in_utc(balancer):
    record({balancer.pk: Growth(1, 5, 6)}, AT)
    record({balancer.pk: Growth(1, 10, 20)}, AT)
    record({balancer.pk: Growth(1, 1, 2)}, datetime(2026, 4, 1, tzinfo=UTC))
    assert transfer() == {3: (15, 26), 4: (1, 2)}


def test_figures_of_a_deleted_balancer_are_dropped(balancer):
    record({balancer.pk + 1: Growth(1, 1, 1), balancer.pk: Growth()}, AT)
    assert transfer() == {3: (0, 0)}


def test_only_this_month_is_shown_in_megabytes(balancer, client_for, owner):
    NodeBalancer.objects.update(account=owner.account)
    now = datetime.now(UTC)
    for month in {month_of(now), month_of(now + timedelta(hours=1))}:  # the next month may begin meanwhile
        NodeBalancerTransfer.objects.create(nodebalancer=balancer, month=month, received=10**6, sent=12345)
    NodeBalancerTransfer.objects.create(nodebalancer=balancer, month="2020-01-01", received=10**12)
    shown = client_for(owner).get(f"/v4/nodebalancers/{balancer.pk}").json()["transfer"]
    assert shown == {"total": 1.01, "in": 1.0, "out": 0.01}


def test_samples_that_no_answer_shows_go(balancer):
    values = dict.fromkeys(("connections", "traffic_in", "traffic_out"), 1.0)
    for hours in (1, 47, 49):
        NodeBalancerSample.objects.create(nodebalancer=balancer, at=AT - timedelta(hours=hours), **values)
    thin(AT)
    assert NodeBalancerSample.objects.count() == 2
    thin_samples()
    assert NodeBalancerSample.objects.count() == 0, "the clock does it"


def test_a_status_is_that_of_the_address_that_was_looked_at():
    nodes = [NodeBalancerNodeFactory(address=f"10.0.0.{n}:80") for n in (2, 3)]
    seen = {(nodes[0].pk, "10.0.0.2:80"): "UP", (nodes[1].pk, "10.0.0.9:80"): "UP", (nodes[1].pk + 9, "x"): "DOWN"}
    before = [node.updated for node in NodeBalancerNode.objects.order_by("pk")]
    assert see(seen) == 1
    assert see(seen) == 0
    assert [node.status for node in NodeBalancerNode.objects.order_by("pk")] == ["UP", "Unknown"]
    assert [node.updated for node in NodeBalancerNode.objects.order_by("pk")] == before
