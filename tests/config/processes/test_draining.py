"""A serving process that gets SIGTERM continues for a while, and reports that it drains."""

import asyncio
import os
import signal

import pytest

from config.processes.draining import Drain, drain


@pytest.fixture
def stop_requested(monkeypatch):
    monkeypatch.setattr(drain, "begun", True)


def signals_until_stopped(seconds: float, *sent: int) -> tuple[bool, int]:
    """Send these signals to a process. Returns whether it drained, and how often its server was stopped."""
    stopped = 0

    async def serve() -> bool:
        nonlocal stopped
        loop, ended, process = asyncio.get_running_loop(), asyncio.Event(), Drain()

        def stop() -> None:  # the server's own handler of both signals
            nonlocal stopped
            stopped += 1
            ended.set()

        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop)
        process.prepare(loop, seconds)
        for each in sent:
            os.kill(os.getpid(), each)
            await asyncio.sleep(0)
        await ended.wait()
        return process.begun

    return asyncio.run(serve()), stopped


def test_a_process_that_is_to_stop_goes_on_and_is_stopped_then():
    assert signals_until_stopped(0.05, signal.SIGTERM) == (True, 1)


def test_a_second_signal_ends_the_wait():
    assert signals_until_stopped(100_000, signal.SIGTERM, signal.SIGTERM) == (True, 1)


def test_without_a_time_for_it_and_by_ctrl_c_a_server_stops_at_once():
    assert signals_until_stopped(0, signal.SIGTERM) == (False, 1)
    assert signals_until_stopped(100_000, signal.SIGINT) == (False, 1)


def test_a_draining_process_is_not_ready_and_yet_lives(client, stop_requested, caplog):
    """The readiness check runs no database query first, and logs no error for each probe."""
    answer = client.get("/readyz")
    assert [record for record in caplog.records if record.name == "django.request"] == []
    assert (answer.status_code, answer.json()) == (503, {"status": "draining", "problems": {}})
    assert client.get("/livez").status_code == 200
