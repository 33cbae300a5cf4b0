"""A worker that takes no messages is distinguished from one that is idle, busy, or without a broker."""

from types import SimpleNamespace

import pytest
from celery.platforms import EX_FAILURE
from celery.worker import state

from compute.worker import heartbeats
from compute.worker.consumption import CHECK_EVERY, PATIENCE_SECONDS, RELAPSE_SECONDS, Consumption, Verdict
from compute.worker.heartbeats import WorkerHeartbeat


def checks(consumption: Consumption, start: float, seconds: float, comes_back: bool) -> list[Verdict]:
    """Check for a while as a worker does, and return the verdicts up to the first that is not healthy."""
    verdicts: list[Verdict] = []
    now = start
    while now <= start + seconds:
        if comes_back:
            consumption.took()
        verdicts.append(consumption.check(now))
        if verdicts[-1] is not Verdict.HEALTHY:
            break
        consumption.sent(now)
        now += CHECK_EVERY
    return verdicts


def test_a_worker_whose_messages_come_back_is_healthy():
    assert set(checks(Consumption(), 0, 1000, comes_back=True)) == {Verdict.HEALTHY}


def test_a_worker_whose_messages_do_not_come_back_reconnects_within_ten_seconds_and_ends_when_that_does_not_help():
    consumption = Consumption()
    found = checks(consumption, 0, 1000, comes_back=False)
    assert found[-1] is Verdict.RECONNECT
    assert len(found) * CHECK_EVERY <= 10
    consumption.connected()
    assert checks(consumption, 20, 1000, comes_back=False)[-1] is Verdict.END


def test_a_worker_that_was_well_for_long_reconnects_again_before_it_ends():
    consumption = Consumption()
    checks(consumption, 0, 1000, comes_back=False)
    consumption.connected()
    later = PATIENCE_SECONDS + 2 * CHECK_EVERY + RELAPSE_SECONDS
    checks(consumption, 20, later, comes_back=True)
    assert checks(consumption, 20 + later, 1000, comes_back=False)[-1] is Verdict.RECONNECT


def test_a_worker_that_stood_still_itself_gives_its_messages_time():
    consumption = Consumption()
    consumption.check(0)
    consumption.sent(0)
    assert consumption.check(3600) is Verdict.HEALTHY
    consumption.sent(3600)
    assert checks(consumption, 3600 + CHECK_EVERY, 1000, comes_back=False)[-1] is Verdict.RECONNECT


# --- the step of a worker ----------------------------------------------------------------------------------------


class Slot:
    """A running task."""


@pytest.fixture
def clock(monkeypatch):
    """The monotonic clock of heartbeats, which tests set."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(heartbeats.time, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def worker(monkeypatch):
    """A worker of two slots without a process, and the step that watches it. Its messages are not restored."""
    beats: list[tuple] = []
    pulse = SimpleNamespace(beat=lambda *what: beats.append(what), process=SimpleNamespace(id="this"))
    monkeypatch.setattr(heartbeats, "worker_pulse", lambda: pulse)
    monkeypatch.setattr(heartbeats, "note_stop", lambda: beats.append(("leaves",)))
    monkeypatch.setattr(heartbeats.threading, "Timer", lambda *call: SimpleNamespace(start=lambda: None))
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from={"celery": None, "clock": None}))
    parent = SimpleNamespace(
        pool=SimpleNamespace(num_processes=2),
        app=SimpleNamespace(amqp=amqp),
        connection_errors=(OSError,),
        steps=[],
    )
    sent: list[object] = []
    producer = SimpleNamespace(publish=sent.append)
    state.reset_state()
    yield SimpleNamespace(parent=parent, step=WorkerHeartbeat(parent), producer=producer, sent=sent, beats=beats)
    state.reset_state()
    state.should_stop = None


def watch(worker, clock, seconds: float) -> None:
    end = clock.now + seconds
    while clock.now < end and state.should_stop is None:
        worker.step.check(worker.parent, worker.producer)
        clock.now += CHECK_EVERY


def test_a_message_that_came_back_renews_the_heartbeat(worker, clock):
    acknowledged: list[bool] = []
    message = SimpleNamespace(ack=lambda: acknowledged.append(True))
    watch(worker, clock, CHECK_EVERY)
    assert (len(worker.sent), worker.beats) == (1, [])
    for _ in range(2):
        worker.step.take(worker.parent, message)
    assert acknowledged == [True, True]
    assert worker.beats == [(("celery", "clock"), 2)], "more often than every few seconds nobody reads it"


def test_a_worker_with_a_free_slot_that_takes_no_message_reconnects_and_then_ends(worker, clock, caplog):
    running = [Slot()]
    state.active_requests.update(running)
    with pytest.raises(worker.parent.connection_errors):
        watch(worker, clock, 1000)
    assert worker.beats == []
    assert state.should_stop is None
    worker.step.consumption.connected()
    watch(worker, clock, 1000)
    assert state.should_stop == EX_FAILURE
    assert worker.beats == [("leaves",)]
    assert [record.levelname for record in caplog.records] == ["ERROR", "CRITICAL"]


def test_a_worker_whose_slots_are_all_busy_is_healthy_without_messages(worker, clock):
    running = [Slot(), Slot()]
    state.active_requests.update(running)
    watch(worker, clock, 1000)
    assert len(worker.beats) > 100
    state.active_requests.discard(running[0])
    with pytest.raises(OSError, match="no messages"):
        watch(worker, clock, 1000)
