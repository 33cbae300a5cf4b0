"""Periodic work of a process, next to its requests, is repeated after any result."""

import asyncio
import threading

from config.server.periodic import Periodic


def test_it_is_called_again_after_an_error_and_once_more_at_the_end():
    calls: list[int] = []
    often = threading.Event()

    def work() -> None:
        calls.append(threading.get_ident())
        if len(calls) == 1:
            raise OSError("the first time it fails")
        often.set()

    ended: list[int] = []

    async def serve() -> None:
        periodic = Periodic(0.001, work, lambda: ended.append(len(calls)))
        periodic.start(asyncio.get_running_loop())
        await asyncio.get_running_loop().run_in_executor(None, often.wait, 60)
        periodic.stop()

    asyncio.run(serve())
    assert len(calls) >= 2
    assert ended == [len(calls)]
    assert len(set(calls)) == 1
    assert calls[0] != threading.get_ident()


def test_only_the_first_of_repeated_failures_is_logged_whole(caplog):
    often = threading.Event()
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        if len(calls) == 4:
            often.set()
        if len(calls) < 4:
            raise OSError("it is not there")

    async def serve() -> None:
        periodic = Periodic(0.001, work)
        periodic.start(asyncio.get_running_loop())
        await asyncio.get_running_loop().run_in_executor(None, often.wait, 600)
        periodic.stop()

    asyncio.run(serve())
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False]
    assert all("it is not there" in record.getMessage() for record in caplog.records)


def test_stopping_before_the_start_succeeds():
    Periodic(1, lambda: None).stop()
