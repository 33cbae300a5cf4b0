"""A worker that is stopping: the tasks that it has received and not started."""

from dataclasses import dataclass, field

import pytest
from celery.worker import state

from compute.worker import leaving


@dataclass(eq=False)
class Request:
    """A task that a worker has received from the broker."""

    name: str
    args: list[int] = field(default_factory=list)


@pytest.fixture
def sent(monkeypatch):
    found: list[tuple] = []
    monkeypatch.setattr(leaving, "notify", lambda *sent: found.append(sent))
    state.reset_state()
    yield found
    state.reset_state()
    leaving._flag[0] = 0
    leaving._taken.clear()


def test_what_has_not_begun_is_sent_once_more_to_others(sent):
    waits, runs = Request("compute.worker.advance", [7]), Request("compute.worker.advance", [8])
    state.reserved_requests.update((waits, runs))
    state.active_requests.add(runs)
    consumer = type("Consumer", (), {"steps": []})()
    step = leaving.HandBack(consumer)

    step.stop(consumer)  # the broker disconnects, and comes back
    assert (leaving.leaving(), sent) == (False, [])

    leaving.leave(sig="SIGTERM", how="Warm")
    step.stop(consumer)
    step.stop(consumer)
    assert (leaving.leaving(), sent) == (True, [("compute.worker.advance", 7)])
