"""Queues are read as Celery has written them."""

import pytest
from django.conf import settings as installed
from kombu.connection import Connection

from config import queues
from config.celery import app
from tests.ports import free_port


@pytest.fixture
def send(settings):
    """Send a task to the queue `celery` with a priority. Nobody takes it: no worker has the prefix of this test."""
    options = installed.CELERY_BROKER_TRANSPORT_OPTIONS | {
        "global_keyprefix": settings.REDIS_PREFIX,
        "socket_connect_timeout": 120,
        "socket_timeout": 120,
    }
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = options
    with Connection(installed.CELERY_BROKER_URL, transport_options=options) as connection:
        yield lambda priority: app.send_task(
            "compute.jobs.sweep", queue="celery", priority=priority, connection=connection, ignore_result=True
        )


def test_messages_of_all_priorities_wait_in_a_queue(send):
    assert queues.waiting("celery") == 0
    for priority in (0, 0, 3, 5, 9):
        send(priority)
    assert queues.waiting("celery") == 5
    assert queues.waiting("clock") == 0


def test_priorities_of_one_step_share_a_list(send):
    for priority in (0, 3, 5, 9):
        send(priority)
    assert [queues.waiting("celery", priority) for priority in (0, 2, 3, 4, 6, 9)] == [1, 1, 2, 2, 0, 1]


def test_a_broker_that_does_not_answer_has_no_number_of_messages(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert queues.waiting("celery") is None
