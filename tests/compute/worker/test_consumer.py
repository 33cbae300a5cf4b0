"""A worker's connection to the broker loses no capacity for messages, and reconnects soon."""

import logging

import pytest
import redis
from celery.worker import state
from django.conf import settings as installed
from kombu import Exchange, Queue
from kombu.connection import Connection
from redis.client import Pipeline

from compute.worker.consumer import MAX_PAUSE_SECONDS, Consumer
from config.celery import app
from tests.messages import own_connection
from tests.ports import free_port

log = logging.getLogger(__name__)


@pytest.fixture
def connection(settings):
    with own_connection(settings) as connection:
        yield connection


def test_an_acknowledgement_that_the_broker_does_not_hear_costs_no_place(connection, monkeypatch):
    channel = connection.default_channel
    channel.basic_qos(0, 1, False)
    queue = Queue("taken", Exchange(""), routing_key="taken")
    taken = []
    with connection.Consumer([queue], on_message=taken.append):
        for word in ("first", "second"):
            connection.Producer(routing_key="taken").publish(word)
        connection.drain_events(timeout=120)
        assert not channel.qos.can_consume(), "one message is all that this worker may hold"

        def frozen(*args, **kwargs):
            raise redis.TimeoutError("Timeout reading from socket")

        with monkeypatch.context() as patch:
            for sends in (redis.Redis, Pipeline):
                patch.setattr(sends, "execute_command", frozen)
            patch.setattr(Pipeline, "execute", frozen)
            taken[0].ack_log_error(log, connection.connection_errors)
        assert channel.qos.can_consume()
        connection.drain_events(timeout=120)
    assert [message.payload for message in taken] == ["first", "second"]


def socket_timeout(connection) -> float:
    with connection:
        return connection.default_channel.pool.connection_kwargs["socket_timeout"]


@pytest.fixture
def consumer():
    """A consumer without a worker, with everything that it needs to connect."""
    consumer = object.__new__(Consumer)
    consumer.app = app
    return consumer


def test_reading_connections_have_longer_timeouts_than_sending_ones(consumer):
    sends = socket_timeout(app.connection_for_write())
    assert sends <= 1
    assert socket_timeout(consumer.connection_for_read()) >= 5 * sends


def test_a_broker_that_was_away_for_long_is_tried_as_often_as_at_first(consumer, monkeypatch, caplog):
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        state.should_stop = 0 if sum(slept) > 40 else None

    monkeypatch.setattr("kombu.utils.functional.sleep", sleep)
    monkeypatch.setattr("redis.retry.sleep", lambda seconds: None)
    away = Connection(f"redis://127.0.0.1:{free_port()}/0", transport_options=installed.WORKER_BROKER_OPTIONS)
    try:
        with pytest.raises(SystemExit):
            consumer.ensure_connected(away)
    finally:
        state.should_stop = None
    tries = [record for record in caplog.records if "Cannot connect" in record.getMessage()]
    assert len(tries) >= 40 // MAX_PAUSE_SECONDS
