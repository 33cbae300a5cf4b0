"""A worker that is stopping: the tasks that it has received and not started."""

from dataclasses import dataclass, field

import pytest
from celery.worker import state

from compute.worker import stopping


@dataclass(eq=False)
class Request:
    """A task that a worker has received from the broker."""

    name: str
    args: list[int] = field(default_factory=list)


@pytest.fixture
def sent(monkeypatch):
    found: list[tuple] = []
    monkeypatch.setattr(stopping, "notify", lambda *sent: found.append(sent))
    state.reset_state()
    yield found
    state.reset_state()
    stopping._flag[0] = 0
    stopping._taken.clear()


def test_tasks_that_have_not_begun_are_sent_again(sent):
    waits, runs = Request("compute.worker.advance", [7]), Request("compute.worker.advance", [8])
    state.reserved_requests.update((waits, runs))
    state.active_requests.add(runs)
    consumer = type("Consumer", (), {"steps": []})()
    step = stopping.ReturnTasks(consumer)

    step.stop(consumer)  # the broker disconnects, and comes back
    assert (stopping.is_stopping(), sent) == (False, [])

    stopping.note_stop(sig="SIGTERM", how="Warm")
    step.stop(consumer)
    step.stop(consumer)
    assert (stopping.is_stopping(), sent) == (True, [("compute.worker.advance", 7)])
