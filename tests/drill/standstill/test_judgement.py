"""The judgement of the cases is right: real faults are found, and nothing else."""

import json
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from compute.drivers.base import Address, Options, Unreachable
from compute.jobs.notify import TASK_NAME
from tests.drill.standstill import deletions, silence, suite
from tests.drill.standstill.driver import Call, DisturbedDriver
from tests.drill.standstill.findings import Findings, Timed
from tests.drill.standstill.messages import Broker

HOST = Address("us-test-h1")


@pytest.mark.parametrize(("during", "missed"), [(4.9, False), (5.0, False), (5.1, True), (None, True)])
def test_times_beyond_the_limit_count_as_missed(during, missed):
    findings = Findings([Timed("a boot", 0.5, during, 5.0)])
    assert bool(findings.missed) == missed
    assert findings.figures()["a boot during"] == ("never" if during is None else f"{during:.2f}")


@pytest.mark.parametrize(
    ("judges_times", "seconds", "wrong", "played"),
    [
        (True, [1.0], "", 1),
        (True, [9.0, 1.0], "", 2),
        (True, [9.0, 9.0], "", 2),
        (False, [9.0], "", 1),
        (True, [9.0], "a job waits for ever", 1),
    ],
)
def test_a_case_that_takes_too_long_is_repeated_once_where_times_are_judged(judges_times, seconds, wrong, played):
    taken = iter(seconds)
    scene = SimpleNamespace(form=SimpleNamespace(judges_times=judges_times))
    found = []

    def case(scene):
        found.append(Findings([Timed("a boot", 0.5, next(taken), 5.0)], wrong=[wrong] if wrong else []))
        return found[-1]

    assert suite.judged("case", case, scene) is found[-1]
    assert len(found) == played


def test_calls_that_follow_each_other_are_one_at_once():
    def calls(*spans: tuple[float, float]) -> list[Call]:
        return [Call("start", HOST.name, *span) for span in spans]

    assert silence.most_at_once(calls()) == 0
    assert silence.most_at_once(calls((0, 2), (2, 4), (5, 6))) == 1
    assert silence.most_at_once(calls((0, 2), (1, 3), (1.5, 2.5), (4, 5))) == 3


def test_deadlocks_are_named_by_the_awaited_table(tmp_path):
    log = tmp_path / "postgres.log"
    log.write_text(
        "ERROR:  deadlock detected\nDETAIL:  Process 1 waits for ShareLock on transaction 7\n"
        'CONTEXT:  while updating tuple (0,1) in relation "compute_host"\nSTATEMENT:  UPDATE …\n'
        'ERROR:  duplicate key\nCONTEXT: in relation "compute_job"\nERROR:  deadlock detected\nDETAIL:  Process 2\n'
    )
    scene = SimpleNamespace(site=SimpleNamespace(postgres=SimpleNamespace(log=log)))
    assert deletions.deadlocks(scene) == ["compute_host", "a row of an unknown table"]


def test_messages_of_jobs_are_counted_at_every_priority_and_no_others():
    lists = {
        b"celery": [_message("accounts.send_messages")],
        b"celery\x06\x169": [_message(TASK_NAME), _message(TASK_NAME), _message("compute.firewalls.apply")],
        b"celery\x06\x163": [_message(TASK_NAME)],
    }
    broker = Broker(_Lists(lists))
    assert broker.waiting() == 3
    assert broker.lose() == 3
    assert broker.waiting() == 0
    assert lists == {}


def _message(task: str) -> bytes:
    return json.dumps({"body": "W1s3XV0=", "headers": {"lang": "py", "task": task}}).encode()


class _Lists:
    """A stand-in for a Redis client that reads and deletes lists."""

    def __init__(self, lists):
        self.lists = lists

    def scan_iter(self, pattern, count):
        return list(self.lists)

    def type(self, name):
        return b"list"

    def lrange(self, name, first, last):
        return self.lists[name]

    def delete(self, name):
        del self.lists[name]


@pytest.fixture
def disturbed(transactional_db, monkeypatch, tmp_path) -> Iterator[DisturbedDriver]:
    """The driver of a host without machines, whose calls hang for half a second at most."""
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    params = connection.get_connection_params()
    keep = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    conninfo = make_conninfo(dbname=connection.settings_dict["NAME"], **keep)
    driver = DisturbedDriver(Options(20, str(tmp_path), conninfo, 0))
    driver.timeout = 0.5  # for calls that hang only: others may take longer on a busy machine
    driver = driver.at(HOST)
    driver.forget_all()
    yield driver
    driver.close()


def test_a_host_that_hangs_does_not_answer_until_it_does(disturbed):
    other = disturbed.at(Address("us-test-h2"))
    disturbed.disturbance.hang(HOST.name)
    with pytest.raises(Unreachable) as raised:
        disturbed.powered_off()
    assert raised.value.host == HOST.name
    assert other.powered_off() == frozenset()
    disturbed.disturbance.answer(HOST.name)
    assert disturbed.powered_off() == frozenset()
    [call] = disturbed.disturbance.calls()
    assert (call.name, call.host) == ("powered_off", HOST.name)
    assert call.ended - call.begun >= 0.4, "it hung to the time limit of the driver"


def test_only_calls_of_jobs_are_slow(disturbed, monkeypatch):
    slept = []
    monkeypatch.setattr("tests.drill.standstill.driver.time.sleep", slept.append)
    disturbed.disturbance.slow(0.3)
    disturbed.powered_off()
    assert slept == []
    disturbed.power("skerry-7")
    assert slept == [0.3]
    disturbed.disturbance.slow(0)
    disturbed.power("skerry-7")
    assert slept == [0.3]
