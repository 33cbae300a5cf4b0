"""Requests through PgBouncer in transaction mode: each transaction gets any free session."""

import logging
import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from django.db import ProgrammingError, connection, connections, transaction
from django.test import Client

from accounts.models import User
from accounts.services.tokens import create_token
from compute.models import Kernel
from config.db import prepared
from tests.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)

SESSIONS = 2
CLIENTS = 6
ROUNDS = 8
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
INI = """
[databases]
{name} = {target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 100
{tracking}
"""


@cache
def tracks() -> bool:
    """Tell whether this PgBouncer prepares a client's statements on the session that the client gets."""
    output = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", output)))[:2] >= (1, 21)


def quoted(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def as_nobody() -> list[str]:
    """Return the start of a command that runs PgBouncer as nobody, because it refuses to run as root.

    The user keeps one capability, for sockets in folders that are closed to others.
    """
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("nobody")
    who = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return ["setpriv", *who, "--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--"]


@pytest.fixture
def pooled(tmp_path: Path, monkeypatch, settings) -> Iterator[None]:
    """Connect new connections of this process, those of other threads, through a pooler."""
    if PROGRAM is None:
        assert not os.environ.get("CI"), "the package pgbouncer is to be installed"
        pytest.skip("needs PgBouncer: apt-get install pgbouncer")
    own = connection.get_connection_params()
    target = {key: own[key] for key in ("host", "port", "user", "password", "dbname") if own.get(key)}
    port, file = free_port(), tmp_path / "pgbouncer.ini"
    ini = INI.format(
        name=own["dbname"],
        target=" ".join(f"{key}={quoted(value)}" for key, value in target.items()),
        port=port,
        sessions=SESSIONS,
        tracking="max_prepared_statements = 500" if tracks() else "",
    )
    file.write_text(ini)
    connection.ensure_connection()
    place = {"HOST": "127.0.0.1", "PORT": port, "USER": own.get("user") or "anybody", "PASSWORD": ""}
    for name, value in {**place, "DISABLE_SERVER_SIDE_CURSORS": False}.items():
        monkeypatch.setitem(connection.settings_dict, name, value)
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([*as_nobody(), PROGRAM, str(file)], stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(server, port, tmp_path / "log")
        yield
    finally:
        server.terminate()
        server.wait(60)


def wait_for(server: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert server.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)


@contextmanager
def clients(number: int) -> Iterator[list[Executor]]:
    """Yield clients of the database: threads with one connection each, whose tasks run in order."""
    threads = [ThreadPoolExecutor(1) for _ in range(number)]
    try:
        yield threads
    finally:
        for thread in threads:
            thread.submit(connections.close_all).result()
            thread.shutdown()


def session() -> int:
    """Return the process id of the server's session that this thread's next statement uses."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def begin() -> int:
    transaction.set_autocommit(False)
    return session()


def end() -> None:
    transaction.rollback()
    transaction.set_autocommit(True)


def sessions_of(holders: list[Executor]) -> list[int]:
    """Return all sessions of the pooler."""
    found = [holder.submit(begin).result() for holder in holders]
    for holder in holders:
        holder.submit(end).result()
    assert len(set(found)) == len(found) == SESSIONS
    return found


def only(holders: list[Executor], wanted: int) -> Executor:
    """Occupy all sessions but `wanted` with transactions. Returns the client that releases the other one by
    `end`."""
    taken = {holder.submit(begin).result(): holder for holder in holders}
    taken.pop(wanted).submit(end).result()
    (other,) = taken.values()
    return other


def requests(world, instance) -> list[str]:
    """Return paths of lists, of details, and one of each kind of refusal."""
    own = f"/v4/compute/instances/{instance.pk}"
    return [
        "/v4/regions", "/v4/regions/us-test", "/v4/compute/kernels", "/v4/compute/instances", own, f"{own}/disks",
        f"{own}/configs", f"{own}/ips", "/v4/images", "/v4/account", "/v4/profile", "/v4/compute/instances/1",
        "/v4/compute/instances?label=no-such", "/v4/images?label=no-such", "/v4/volumes?page=9",
    ]  # fmt: skip


def ask_all(token: str, paths: list[str], number: int) -> dict[str, set[tuple[int, bytes]]]:
    """Return every answer of one client, which reads, writes and is refused many times in turn."""
    client = Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)
    answers: dict[str, set[tuple[int, bytes]]] = {path: set() for path in [*paths, "made", "again", "kernels"]}
    for turn in range(ROUNDS):
        for path in (*paths[number:], *paths[:number]):
            answer = client.get(path)
            answers[path].add((answer.status_code, answer.content))
        for which in ("made", "again"):  # the second one is refused, after its transaction has begun
            answer = client.post("/v4/tags", {"label": f"tag-{number}-{turn}"}, "application/json")
            answers[which].add((answer.status_code, b""))
        known = [kernel.pk for kernel in Kernel.objects.order_by("pk").iterator(chunk_size=1)]
        answers["kernels"].add((200, " ".join(known).encode()))
    return answers


@pytest.fixture
def asked(world) -> Callable[[], list[tuple[dict, dict]]]:
    """Return a function that sends many requests of several clients at once.

    It returns each client's answers, and the expected ones.
    """
    user = User.objects.get(pk=world.actor.user_id)
    token = create_token(user, "test", "*")[1]
    paths = requests(world, world.create(label="pooled"))
    direct = Client(headers={"Authorization": f"Bearer {token}"})
    right = {path: {(answer.status_code, answer.content)} for path in paths for answer in [direct.get(path)]}
    right |= {"made": {(200, b"")}, "again": {(400, b"")}}
    right["kernels"] = {(200, b" ".join(sorted(pk.encode() for pk in Kernel.objects.values_list("pk", flat=True))))}

    def ask() -> list[tuple[dict, dict]]:
        with clients(CLIENTS) as threads:
            asking = [thread.submit(ask_all, token, paths, number) for number, thread in enumerate(threads)]
            return [(each.result(), right) for each in asking]

    return ask


@pytest.mark.parametrize("setting", [None, False, *([True] if PROGRAM and tracks() else [])])
def test_requests_are_answered_alike_through_a_pooler(setting, asked, pooled, settings):
    settings.PREPARED_STATEMENTS = setting
    for answers, right in asked():
        assert answers == right


def test_a_pooler_is_noticed(pooled, settings, caplog):
    def prepare() -> list[tuple]:
        for _ in range(10):
            prepared.fetch("SELECT %s::int", (1,))
            session()
        return prepared.fetch("SELECT count(*) FROM pg_prepared_statements", ())

    settings.PREPARED_STATEMENTS = None
    with caplog.at_level(logging.INFO, "config.db"), clients(1) as (client,):
        assert client.submit(prepare).result() == [(0,)]
    assert "A pooler is between this process and PostgreSQL" in caplog.text
    assert connection.connection.prepare_threshold is not None  # this thread connected before the pooler started


def test_a_statement_of_psycopgs_that_is_on_another_session_fails(pooled, settings):
    """If the pooler does not track statements, the call fails. No other client's statement runs instead."""
    settings.PREPARED_STATEMENTS = True

    def add(number: int) -> int:
        with connection.cursor() as cursor:
            for _ in range(7):
                cursor.execute(f"SELECT %s::int + {number}", (0,))
            return cursor.fetchone()[0]

    with clients(4) as (one, two, *holders):
        first, second = sessions_of(holders)
        last = only(holders, first)
        assert one.submit(add, 1).result() == 1
        last.submit(end).result()
        last = only(holders, second)
        assert two.submit(add, 2).result() == 2  # like the other's: as many parameters, of the same types
        if tracks():
            assert one.submit(add, 1).result() == 1
        else:
            with pytest.raises(ProgrammingError, match="does not exist"):
                one.submit(add, 1).result()
        last.submit(end).result()


def test_a_statement_that_another_session_has_is_prepared_there_too(pooled, settings):
    """The statement works on any session, whatever other clients have prepared there."""
    settings.PREPARED_STATEMENTS = True

    def fetch(number: int) -> int:
        return prepared.fetch(f"SELECT %s::int + {number}", (0,))[0][0]

    with clients(4) as (one, two, *holders):
        sessions = sessions_of(holders)
        for wanted in (*sessions, *sessions):
            last = only(holders, wanted)
            for number in range(3):
                assert one.submit(fetch, number).result() == number
                assert two.submit(fetch, 2 - number).result() == 2 - number
            last.submit(end).result()
