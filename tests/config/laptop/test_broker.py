"""A real worker process and a real broker, which is killed while the worker runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from celery import Celery
from django.conf import settings
from kombu import Queue
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from config.celery import app
from config.laptop.embedded import addresses, services
from config.management.commands.serve import works
from tests.config.laptop.noting import NAME
from tests.waiting import wait_for

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def broker(tmp_path):
    with services(tmp_path, valkey=True) as [valkey]:
        yield valkey


@pytest.fixture
def publish(broker, tmp_path):
    """Send a notification as requests do, which give up soon."""
    url = addresses.broker_url(addresses.redis_url(tmp_path))
    with Connection(url, transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS) as connection:
        yield lambda word: app.send_task(
            NAME, args=(str(tmp_path), word), connection=connection, retry=False, ignore_result=True
        )


@pytest.fixture
def deliver(publish):
    """Notify until the broker accepts it. On a busy machine, a healthy broker may take longer than requests
    wait."""

    def published(word: str) -> bool:
        try:
            publish(word)
        except OperationalError:
            return False
        return True

    return lambda word: wait_for(lambda: published(word))


@pytest.fixture
def worker(broker, tmp_path):
    command = ["-m", "celery", "--quiet", "-A", "tests.config.laptop.noting", "worker", "--concurrency", "1"]
    process = subprocess.Popen(
        [sys.executable, *command, "--without-gossip", "--without-mingle"],
        cwd=ROOT,
        env=os.environ | {"REDIS_URL": addresses.redis_url(tmp_path)},
        start_new_session=True,
    )
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """The pauses before the libraries retry. They are recorded and skipped."""
    made: list[float] = []
    for place in ("kombu.utils.functional.sleep", "redis.retry.sleep"):
        monkeypatch.setattr(place, made.append)
    return made


def pid_of(tmp_path):
    return redis.Redis.from_url(addresses.redis_url(tmp_path)).info("server")["process_id"]


def test_a_worker_comes_back_to_a_broker_that_was_killed(broker, worker, publish, deliver, tmp_path):
    deliver("before")
    wait_for((tmp_path / "before").exists)

    os.kill(pid_of(tmp_path), signal.SIGKILL)
    wait_for(lambda: not broker.server.answers())
    with pytest.raises(OperationalError):
        publish("lost")
    assert broker.revive()

    deliver("after")
    wait_for((tmp_path / "after").exists)
    assert worker.poll() is None, "it is the same worker"
    assert not (tmp_path / "lost").exists()


def test_a_worker_answers_before_serve_reports_ready(broker, request, tmp_path):
    asks = Celery("asks", broker=addresses.broker_url(addresses.redis_url(tmp_path)), set_as_current=False)
    asks.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    assert not works(asks)
    request.getfixturevalue("worker")
    wait_for(lambda: works(asks))
    os.kill(pid_of(tmp_path), signal.SIGKILL)
    wait_for(lambda: not broker.server.answers())
    assert not works(asks)


def test_a_message_in_hand_does_not_keep_a_worker_from_reconnecting(broker, deliver, tmp_path):
    deliver("in hand")
    with Connection(
        addresses.broker_url(addresses.redis_url(tmp_path)),
        transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS,
    ) as connection:
        channel = connection.default_channel
        with connection.Consumer([Queue("celery", channel=channel)], callbacks=[lambda body, message: None]):
            connection.drain_events(timeout=120)
            # The first call of a worker that loses its broker. Closing the channel used to end the worker then.
            connection.transport.client = None
            channel.close()
            connection.transport.client = connection


def test_a_broker_that_hangs_holds_nobody_up(broker, publish, deliver, tmp_path, pauses):
    """The request waits for the broker once, and no longer than the settings allow."""
    deliver("warm")
    pid = pid_of(tmp_path)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(OperationalError):
            publish("stuck")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert pauses == []
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    assert options["socket_connect_timeout"] + options["socket_timeout"] <= 2


def test_a_broker_that_is_gone_is_noticed_at_once(broker, publish, deliver, tmp_path, pauses):
    deliver("warm")
    os.kill(pid_of(tmp_path), signal.SIGKILL)
    wait_for(lambda: not broker.server.answers())
    with pytest.raises(OperationalError):
        publish("lost")
    assert pauses == []


def test_each_run_keeps_its_keys_apart(broker, deliver, tmp_path):
    deliver("queued")
    client = redis.Redis.from_url(addresses.redis_url(tmp_path))
    assert client.dbsize() == len(client.keys(f"{os.environ['REDIS_PREFIX']}*")) > 0
