"""Counts go from the memory of processes to Redis. None is lost or counted twice."""

import os
import secrets

import pytest
import redis

from config.monitoring import counts
from config.monitoring.counts import Counter, Counts, Histogram, Reporter
from tests.ports import free_port

DOORS = Counter("test_doors", "Doors that were opened.", ("colour",))
WALKS = Histogram("test_walk_seconds", "Walks.", ("colour",))


@pytest.fixture(autouse=True)
def own_counts(settings, monkeypatch):
    """Counts and keys in Redis of this test's own."""
    settings.REDIS_PREFIX = f"counts-{secrets.token_hex(4)}:"
    monkeypatch.setattr(counts, "counts", Counts())
    yield
    settings.REDIS_URL = REDIS_URL
    with counts.connect() as client:
        if names := client.keys(f"{settings.REDIS_PREFIX}*"):
            client.delete(*names)


@pytest.fixture(autouse=True)
def address(settings):
    global REDIS_URL
    REDIS_URL = settings.REDIS_URL


def test_processes_of_a_machine_add_up_and_machines_stay_apart():
    DOORS.add("red")
    DOORS.add("red", amount=2)
    counts.store(counts.counts.take(), "one")
    DOORS.add("red")
    counts.store(counts.counts.take(), "one")
    DOORS.add("blue")
    counts.store(counts.counts.take(), "two")
    assert dict(counts.stored()) == {
        "one": {("test_doors", "red"): 4.0},
        "two": {("test_doors", "blue"): 1.0},
    }


def test_durations_are_counted_by_the_range_that_they_are_in():
    for seconds in (0.001, 0.005, 0.0051, 1e9):
        WALKS.observe(seconds, "red")
    taken = counts.counts.take()
    assert taken.pop(("test_walk_seconds", "red", "sum")) == pytest.approx(1e9 + 0.0111)
    last = str(len(counts.BUCKETS))
    assert taken == {
        ("test_walk_seconds", "red", "0"): 2.0,
        ("test_walk_seconds", "red", "1"): 1.0,
        ("test_walk_seconds", "red", last): 1.0,
    }


def test_counts_are_kept_and_logged_once_while_redis_is_down(settings, caplog):
    there, settings.REDIS_URL = settings.REDIS_URL, f"redis://127.0.0.1:{free_port()}/0"
    reporter = Reporter()
    for _ in range(3):
        DOORS.add("red")
        reporter.report()
    assert len(caplog.records) == 1
    settings.REDIS_URL = there
    reporter.report()
    [(_, found)] = counts.stored()
    assert found == {("test_doors", "red"): 3.0}
    assert counts.counts.take() == {}


def test_counts_with_a_lost_answer_of_redis_are_counted_once(monkeypatch):
    def lose(*arguments, **named) -> None:
        store(*arguments, **named)
        raise redis.TimeoutError("Timeout reading from socket")

    store, reporter = counts.store, Reporter()
    DOORS.add("red")
    monkeypatch.setattr(counts, "store", lose)
    reporter.report()
    DOORS.add("red", amount=2)
    reporter.report()
    monkeypatch.setattr(counts, "store", store)
    reporter.report()
    [(_, found)] = counts.stored()
    assert found == {("test_doors", "red"): 3.0}
    assert counts.counts.take() == {}


def test_the_same_amounts_again_are_another_batch():
    reporter = Reporter()
    for _ in range(2):
        DOORS.add("red")
        reporter.report()
    [(_, found)] = counts.stored()
    assert found == {("test_doors", "red"): 2.0}


def test_the_counts_of_a_machine_that_is_gone_go_after_an_hour(settings):
    counts.store({("test_doors", "red"): 1.0}, "one")
    with counts.connect() as client:
        assert 0 < client.ttl(counts.machine_key("one")) <= counts.COUNTS_TTL_SECONDS
        client.zadd(counts.machines_key(), {"one": 0})
    counts.store({("test_doors", "red"): 1.0}, "two")
    assert [machine for machine, _ in counts.stored()] == ["two"]


def test_a_fork_begins_at_nothing():
    DOORS.add("red")
    counts.counts.lock.acquire()  # as a thread of the parent may do at this moment
    reader, writer = os.pipe()
    forked = counts.counts
    os.register_at_fork(after_in_child=forked.forget)
    child = os.fork()
    if not child:
        os.write(writer, repr(forked.take()).encode())
        os._exit(0)
    os.close(writer)
    counts.counts.lock.release()
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"{}"
    os.waitpid(child, 0)
    assert counts.counts.take() == {("test_doors", "red"): 1.0}


def test_redis_that_is_out_of_reach_is_an_error_of_the_reader(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    with pytest.raises(redis.RedisError):
        list(counts.stored())
