"""Every entry point replaces a database connection that has ended: the first call afterwards is answered."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest
from django.conf import settings as project
from django.db import connection, connections
from django.test import Client

from compute.services.images import uploads
from config import streams
from config.celery import app
from config.processes.background_services import background_services
from config.processes.console_broker import USED, ConsoleBroker
from config.server.consoles import Ended
from config.server.periodic import Periodic
from tests.config.api.routes import patterns
from tests.factories import ImageFactory, StaffFactory, token_of
from tests.lost_connections import administrator, end_all

pytestmark = pytest.mark.django_db(transaction=True)

R = TypeVar("R")
PARAMETER = re.compile(r"<(?:\w+:)?\w+>|\(\?P<\w+>[^)]*\)|[\^$\\]")
BETA = "v4beta"
"""The same views as below ``v4``."""
MISSING = "987654"
"""The value of each parameter. Nothing has this id, so no call deletes what the next one needs."""
THREADS = 3


@pytest.fixture
def end() -> Iterator[Callable[[], int]]:
    """Return a function that ends all connections of this process and returns their number."""
    with administrator() as own:
        yield lambda: end_all(own)


def entrances() -> list[tuple[str, str]]:
    """Return method and path of every view of the URL configuration, with one path for each view."""
    found: dict[tuple[object, ...], str] = {}
    for path, pattern in patterns():
        view = pattern.callback
        actions = getattr(view, "actions", None)
        kind = getattr(view, "cls", None) or getattr(view, "view_class", None)
        for method in [*actions] if actions else ["get", "post"]:
            key = (method, view.__module__, view.__qualname__, kind)
            if not path.startswith(BETA):
                found.setdefault(key, f"/{PARAMETER.sub(MISSING, path)}")
    return sorted((method, path) for (method, *_), path in found.items())


def test_all_parts_of_the_site_are_among_the_entrances():
    paths = {path for _, path in entrances()}
    parts = {"v4", "uploads", "readyz", "healthz", "metrics", "oauth", "login", "admin", "docs", "openapi.json"}
    assert parts <= {path.split("/")[1] for path in paths}
    assert any(path.startswith("/admin/") and path.endswith("/change/") for path in paths)


def test_every_view_is_answered(owner, settings, end):
    token = token_of(owner)
    settings.METRICS_TOKEN = token
    staff = StaffFactory(is_superuser=True)
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    failed = []
    for method, path in entrances():
        client.force_login(staff)  # some of the views sign out
        assert end() > 0
        answer = client.generic(method.upper(), path)
        if answer.status_code >= 500 or b"skerry_database_up 0" in getattr(answer, "content", b""):
            failed.append((method, path, answer.status_code))
    assert failed == []


def connect() -> None:
    """Open a working connection in this thread."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def in_every_thread(pool: Executor, number: int, function: Callable[[], R]) -> list[R]:
    """Call a function once in each of the `number` threads of a pool."""
    together = Barrier(number, timeout=600)

    def call() -> R:
        together.wait()
        return function()

    return [future.result() for future in [pool.submit(call) for _ in range(number)]]


def admitted() -> str:
    """Return the reason for which a console refuses an invalid ticket."""
    with streams._fresh_connection(), pytest.raises(Ended) as ended:
        ConsoleBroker().admit("1", "")
    return ended.value.reason


def test_every_thread_is_answered(owner, end):
    image = ImageFactory(account=owner.account, status="pending_upload", number=7)
    signed = uploads.sign(image)

    def upload() -> int:
        return Client().put(f"/uploads/images/{signed}", b"no gzip").status_code

    def ready() -> int:
        return Client().get("/readyz").status_code

    def tag() -> int:
        return Client(headers={"Authorization": f"Bearer {token}"}).post("/v4/tags", {}).status_code

    token = token_of(owner)
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for function, status in ((ready, 200), (upload, 400), (tag, 415)):
                in_every_thread(pool, THREADS, connect)
                assert end() >= THREADS
                assert in_every_thread(pool, THREADS, function) == [status] * THREADS
            in_every_thread(pool, THREADS, connect)
            assert end() >= THREADS
            assert in_every_thread(pool, THREADS, admitted) == [USED] * THREADS
        finally:
            in_every_thread(pool, THREADS, connections.close_all)


@pytest.mark.parametrize("name", sorted({each["task"] for each in project.CELERY_BEAT_SCHEDULE.values()}))
def test_every_task_of_the_clock_runs(name, end):
    connect()
    assert end() > 0
    app.loader.import_default_modules()
    app.tasks[name].apply(throw=True)


@pytest.mark.parametrize("kind", ["web", "stream"])
def test_background_services_survive_lost_connections(kind, end):
    functions = [each.function for each in background_services(kind) if isinstance(each, Periodic)]
    assert functions
    for function in functions:
        connect()
        assert end() > 0
        function()
