"""A database that stops answering is noticed, and blocks no process."""

import asyncio
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from config import streams
from config.db import freeze_detector
from config.db.freeze_detector import FreezeDetector, answers, cut_off
from config.db.prepared import fetch


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(freeze_detector.freeze_detector, "is_frozen", True)


@pytest.fixture
def own_server(monkeypatch):
    """Return a function that connects to an address of the test's own."""

    def at(port: int) -> None:
        parameters = {"host": "127.0.0.1", "port": port, "user": "x", "dbname": "x"}
        monkeypatch.setattr(connections["default"], "get_connection_params", lambda: dict(parameters))

    return at


@pytest.mark.django_db
def test_a_database_that_is_there_answers():
    assert answers()


def test_a_database_that_accepts_and_does_not_answer_is_silent(own_server, monkeypatch):
    monkeypatch.setattr(freeze_detector, "POLL_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        own_server(mute.getsockname()[1])
        assert not answers()


def test_a_database_that_refuses_is_not_silent(own_server):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    own_server(port)
    assert answers()


def test_looks_that_are_late_say_nothing(own_server, monkeypatch):
    """As on a machine that is too busy to poll: the database may have answered, or may have been too busy
    itself."""
    polled = []

    def late(descriptor: int, awaited: int) -> bool:
        polled.append(descriptor)
        clock[0] += 60 if len(polled) < 10 * freeze_detector.MAX_POLLS else freeze_detector.POLL_SECONDS
        return False

    clock = [0.0]
    monkeypatch.setattr(freeze_detector, "monotonic", lambda: clock[0])
    monkeypatch.setattr(freeze_detector, "_is_ready", late)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        own_server(mute.getsockname()[1])
        assert not answers()
    assert len(polled) == 11 * freeze_detector.MAX_POLLS - 1


class Database:
    def __init__(self) -> None:
        self.there, self.asked, self.cut = True, 0, 0

    def ask(self) -> bool:
        self.asked += 1
        return self.there

    def cut_off(self) -> None:
        self.cut += 1


def test_it_is_asked_where_the_loop_stands_still_and_until_it_answers(caplog):
    database = Database()
    watch = FreezeDetector(database.ask, database.cut_off)
    watch.turned = time.monotonic()
    watch.check_database()
    assert database.asked == 0, "the loop turns"
    watch.turned -= freeze_detector.STALL_SECONDS + 1
    watch.check_database()
    assert (database.asked, database.cut, watch.is_frozen) == (1, 0, False), "a long statement is nobody's fault"
    watch.check_database()
    assert database.asked == 1, "it has just answered"
    watch.turned -= freeze_detector.STALL_SECONDS + 1
    database.there = False
    watch.check_database()
    watch.check_database()
    assert (database.asked, database.cut, watch.is_frozen) == (2 + freeze_detector.MAX_FAILED_TRIALS, 2, True)
    watch.turned = time.monotonic()
    database.there = True
    watch.check_database()
    assert not watch.is_frozen
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def test_one_trial_that_fails_refuses_nobody():
    database = Database()
    outcomes = [False] * (freeze_detector.MAX_FAILED_TRIALS - 1) + [True]
    watch = FreezeDetector(lambda: outcomes.pop(0), database.cut_off)
    watch.turned = time.monotonic() - freeze_detector.STALL_SECONDS - 1
    watch.check_database()
    assert (outcomes, watch.is_frozen, database.cut) == ([], False, 0)


def test_a_loop_that_stands_still_is_seen(monkeypatch):
    monkeypatch.setattr(freeze_detector, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(freeze_detector, "STALL_SECONDS", 0.2)
    database = Database()
    database.there = False
    watch = FreezeDetector(database.ask, database.cut_off)

    async def serve() -> None:
        watch.start(asyncio.get_running_loop())
        until = time.monotonic() + 60
        while not watch.is_frozen and time.monotonic() < until:
            time.sleep(0.5)
            await asyncio.sleep(0)
        watch.stop()

    asyncio.run(serve())
    assert watch.is_frozen
    assert database.cut


def test_threads_that_stand_still_are_seen_though_the_loop_turns(monkeypatch):
    """As in a stream process, which answers in threads."""
    monkeypatch.setattr(freeze_detector, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(freeze_detector, "STALL_SECONDS", 0.2)
    database, answered = Database(), threading.Event()
    database.there = False
    watch = FreezeDetector(database.ask, lambda: answered.set())
    with ThreadPoolExecutor(2) as threads:
        watch.pools.append(threads)

        async def serve() -> None:
            watch.start(asyncio.get_running_loop())
            waiting = [asyncio.get_running_loop().run_in_executor(threads, answered.wait, 60) for _ in range(2)]
            assert all(await asyncio.gather(*waiting)), "they were not cut off"
            watch.stop()

        asyncio.run(serve())
    assert watch.is_frozen


def test_pools_of_stream_processes_are_watched():
    assert {streams.application.threads, streams.consoles.threads} <= set(freeze_detector.freeze_detector.pools)


def test_threads_of_which_one_is_free_are_not_taken_to_stand_still(monkeypatch):
    monkeypatch.setattr(freeze_detector, "CHECK_SECONDS", 0.02)
    database, ended = Database(), threading.Event()
    watch = FreezeDetector(database.ask, database.cut_off)
    with ThreadPoolExecutor(2) as threads:
        watch.pools.append(threads)
        threads.submit(ended.wait, 60)

        async def serve() -> None:
            watch.start(asyncio.get_running_loop())
            began = watch.turned
            until = time.monotonic() + 60
            while watch.turned == began and time.monotonic() < until:
                await asyncio.sleep(0.02)
            assert watch.turned > began
            watch.stop()

        try:
            asyncio.run(serve())
        finally:
            ended.set()


def test_errors_do_not_end_the_watch_before_the_loop_closes(monkeypatch, caplog):
    """Otherwise a process would refuse all requests for the rest of its life after one silence of the database."""
    monkeypatch.setattr(freeze_detector, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(freeze_detector, "STALL_SECONDS", 0)
    database = Database()
    database.there = False

    def changed() -> None:
        database.there = True
        raise RuntimeError("Set changed size during iteration")

    watch = FreezeDetector(database.ask, changed)

    async def serve() -> None:
        watch.start(asyncio.get_running_loop())
        until = time.monotonic() + 60
        while not (database.there and not watch.is_frozen) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        watch.stop()

    asyncio.run(serve())
    assert database.there
    assert not watch.is_frozen, "it has not been asked again"
    assert "it is unknown whether the database answers" in caplog.text


@pytest.mark.django_db
def test_a_statement_under_way_is_cut_off():
    own = connection.copy()
    timer = threading.Timer(0.5, lambda: freeze_detector.cut_off())
    try:
        with own.cursor() as cursor:
            pid = own.connection.info.backend_pid
            others, freeze_detector._open = freeze_detector._open, type(freeze_detector._open)([own.connection])
            timer.start()
            began = time.monotonic()
            with pytest.raises(OperationalError):
                cursor.execute("SELECT pg_sleep(600)")
            assert time.monotonic() - began < 300
    finally:
        timer.join()
        freeze_detector._open = others
        own.close()
        with connection.cursor() as cursor:  # the server would notice at the statement's end
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])


def test_closed_connections_are_no_matter(monkeypatch):
    class Closed:
        def fileno(self) -> int:
            raise psycopg.OperationalError("the connection is closed")

    monkeypatch.setattr(freeze_detector, "_open", {Closed()})
    cut_off()


def test_requests_are_refused_at_once_and_the_process_lives(client, silent, caplog):
    """No request here may use the database: it would fail."""
    answer = client.get("/v4/account")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (503, None)
    assert client.get("/login", HTTP_ACCEPT="text/html").status_code == 503
    assert client.get("/livez").status_code == 200
    assert client.get("/version").status_code == 200
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
    assert "does not answer" in ready.json()["problems"]["database"]
    assert [
        record for record in caplog.records if record.name == "django.request" and "/v4" in record.message
    ] == []


def test_pages_of_other_origins_can_read_that_they_are_refused(client, silent):
    asked = {"HTTP_ORIGIN": "https://other.example", "HTTP_ACCESS_CONTROL_REQUEST_METHOD": "GET"}
    assert client.options("/v4/account", **asked).status_code == 200
    answer = client.get("/v4/account", **asked)
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (503, "*")
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_the_page_that_refuses_has_its_style(client, silent):
    page = client.get("/login", HTTP_ACCEPT="text/html")
    assert (page.status_code, "Permissions-Policy" in page) == (503, True)
    styles = re.findall(r'rel="stylesheet" href="([^"]+)"', page.content.decode())
    assert {client.get(style).status_code for style in styles} == {200}


def test_an_address_of_the_api_is_one_though_it_is_untidy(client, silent):
    answer = client.get("/", PATH_INFO="//v4//account/", HTTP_ACCEPT="text/html")
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/json")


@pytest.mark.django_db(transaction=True)
def test_no_second_try_is_made_of_a_silent_database(silent):
    assert fetch("SELECT 1", []) == [(1,)]
    cut_off()
    with pytest.raises(OperationalError):
        fetch("SELECT 1", [])
    connection.close()
