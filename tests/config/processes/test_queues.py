"""Queues are read as Celery has written them."""

import json
import time

import pytest
import redis
from django.conf import settings as installed

from config.processes import queues
from config.processes.queues import Backlog
from tests.messages import Messages, messages
from tests.ports import free_port


@pytest.fixture
def broker(settings):
    with messages(settings) as found:
        yield found


def rounded(found: dict[str, Backlog] | None) -> dict[str, tuple[int, int]]:
    """Return the messages of each queue, and the oldest one's age in hours. A slow test does not change the
    hours."""
    assert found is not None
    return {name: (each.messages, int(each.oldest // 3600)) for name, each in found.items()}


def test_messages_of_all_priorities_wait_in_a_queue(broker: Messages):
    assert queues.waiting("celery") == 0
    for priority in (0, 0, 3, 5, 9):
        broker.send(priority=priority)
    assert queues.waiting("celery") == 5
    assert queues.waiting("clock") == 0


def test_priorities_of_one_step_share_a_list(broker: Messages):
    for priority in (0, 3, 5, 9):
        broker.send(priority=priority)
    assert [queues.waiting("celery", priority) for priority in (0, 2, 3, 4, 6, 9)] == [1, 1, 2, 2, 0, 1]


def test_a_queue_is_as_old_as_the_oldest_message_of_any_priority(broker: Messages):
    assert rounded(queues.backlogs()) == {"celery": (0, 0), "clock": (0, 0)}
    broker.send("celery", age=3 * 3600)
    broker.send("celery", age=2 * 3600)
    broker.send("clock", age=3600)
    assert rounded(queues.backlogs()) == {"celery": (2, 3), "clock": (1, 1)}
    broker.send("celery", age=5 * 3600, priority=6)
    broker.send("celery", priority=6)
    assert rounded(queues.backlogs()) == {"celery": (4, 5), "clock": (1, 1)}


def test_reading_takes_no_message(broker: Messages):
    broker.send()
    for _ in range(2):
        assert rounded(queues.backlogs())["celery"] == (1, 0)


def test_a_message_of_an_earlier_release_has_no_age(broker: Messages, settings):
    broker.send(age=7200)
    client = redis.Redis.from_url(settings.REDIS_URL)
    [key] = queues.list_keys("celery")[:1]
    message = json.loads(client.rpop(key))
    del message["headers"][queues.SENT]
    client.rpush(key, json.dumps(message))
    assert rounded(queues.backlogs())["celery"] == (1, 0)


def test_a_sender_whose_clock_is_fast_makes_no_negative_age(broker: Messages):
    broker.send(age=-7200)
    assert queues.backlogs() == {"celery": Backlog(1, 0.0), "clock": Backlog(0, 0.0)}


def test_a_broker_that_does_not_answer_says_nothing(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert queues.waiting("celery") is None
    assert queues.backlogs() is None


def test_time_limits_are_below_those_of_celery():
    options = installed.CELERY_BROKER_TRANSPORT_OPTIONS
    assert queues.TIMEOUT_SECONDS <= options["socket_connect_timeout"] < options["socket_timeout"]


def test_a_message_says_when_it_was_sent(broker: Messages, settings):
    before = time.time()
    broker.send()
    message = redis.Redis.from_url(settings.REDIS_URL).lindex(queues.list_key("celery", 0), -1)
    assert before <= json.loads(message)["headers"][queues.SENT] <= time.time()
