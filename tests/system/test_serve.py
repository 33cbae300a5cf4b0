"""``make serve`` from its user's view: real processes in a state folder of their own."""

import fcntl
import gzip
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import psycopg
import pytest
import requests
from psycopg.conninfo import make_conninfo

from config.api import reasons
from config.laptop.embedded import addresses, services
from config.management.commands.migrate import ADVISORY_LOCK
from tests.ports import free_port
from tests.system.server import ROOT, TIMEOUT_SECONDS, environment, stop_services
from tests.tours.pages import blocks_for
from tests.waiting import wait_for

pytestmark = pytest.mark.system


def test_services_of_a_server_that_was_killed_are_stopped(tmp_path):
    with services(tmp_path, postgres=True, valkey=True, durable=False) as running:
        stop_services(tmp_path)
        assert [each.server.answers() for each in running] == [False, False]


def serve(state: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run it to its end. Used for starts that are refused."""
    return subprocess.run(
        [sys.executable, "manage.py", "serve", *arguments],
        cwd=ROOT, env=environment(state), capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip


WAITS = "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
TRIES = "SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle in transaction'"
"""Migration retries the lock, on a connection that stays in a transaction."""
PHASES = [
    "Starting PostgreSQL and Valkey",
    "Migrating the database",
    "Seeding the catalogue and the demo account",
    "Starting the API, a worker and the clock",
]
OTHERS = "SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"


def embedded(state: Path) -> str:
    """Return the connection string of a state folder's embedded database."""
    found = addresses.database(state)
    return make_conninfo(host=found["HOST"], port=found["PORT"], user=found["USER"], dbname=found["NAME"])


def one_line(done: subprocess.CompletedProcess) -> str:
    """Return the one line that a refused start prints on standard error."""
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_start_says_little_a_second_takes_nothing_and_a_third_prints_the_same_tokens(start, tmp_path):
    state = tmp_path / "a folder, of mine"
    first = start(state)
    text = first.ready()
    phases = text.split("\nSkerry is running")[0].splitlines()
    # on a slow machine, a long phase prints further lines about its progress
    assert [phase for phase in phases if phase in PHASES] == PHASES
    assert phases[-1].startswith("Ready after ")
    assert text.isprintable() or set(filter(lambda character: not character.isprintable(), text)) == {"\n"}
    assert "access:" not in text, "its own look at whether the API answers is not worth a line"
    owner, restricted = first.tokens()
    assert first.status(owner) == first.status(restricted) == 200

    refused = one_line(serve(state, "--port", str(free_port())))
    assert f"Another make serve runs at http://127.0.0.1:{first.port}" in refused
    assert first.status(owner) == first.status(restricted) == 200

    kept = state / "demo.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    passwords = [json.loads(kept.read_text())[name] for name in ("owner", "staff", "restricted")]
    assert all(password in text for password in passwords)
    assert first.stop() == 0
    assert first.text.endswith("Stopped.\n")

    again = start(state, terminal=True)
    text = again.ready()
    assert re.search(r"\r\x1b\[KMigrating the database: (\d+) of \1 \(\d+\.\d s\)\r\n", text)
    assert "\x1b" not in text[text.index("Starting the API") :], "the children write there too"
    assert again.tokens() == [owner, restricted]
    assert again.status(owner) == 200
    assert again.stop() == 0


def test_the_two_commands_of_the_readme(start, make, tmp_path):
    [block] = blocks_for(__file__)
    serve_line, test_line = (line.split("#")[0].split() for line in block.splitlines())
    server = start(tmp_path / "state", command=[*serve_line, *make])
    server.ready()
    assert [server.status(token) for token in server.tokens()] == [200, 200]
    assert server.stop() == -signal.SIGINT, "make ends by the signal itself"
    assert server.text.endswith("Stopped.\n")

    tested = subprocess.run(
        [*test_line, *make, "ARGS=-n0 tests/test_docs.py -k every_variable"],
        cwd=ROOT, env=environment(tmp_path / "state"), capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
        check=False,
    )  # fmt: skip
    assert "1 passed" in tested.stdout, tested.stdout + tested.stderr


def test_ctrl_c_before_it_runs_ends_with_a_line_and_leaves_no_server(start, tmp_path):
    server = start(tmp_path)
    server.read(until="Starting PostgreSQL")
    assert server.stop() == 0
    assert server.text.endswith("Stopped.\n")
    assert "Traceback" not in server.text
    with (tmp_path / "postgres.users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)  # no process uses it
    assert not (tmp_path / "postgres" / "postmaster.pid").exists()


@pytest.mark.parametrize(
    ("phase", "lock_statement", "waiting"),
    [
        ("Migrating the database", f"SELECT pg_advisory_lock({ADVISORY_LOCK})", TRIES),
        ("Seeding the catalogue", "BEGIN; LOCK TABLE compute_instancetype", WAITS),
    ],
)
def test_ctrl_c_in_the_middle_ends_with_a_line_and_the_next_start_goes_on(
    start, tmp_path, phase, lock_statement, waiting
):
    """A lock holds the start up, so that the keys can be pressed in the middle."""
    with services(tmp_path, postgres=True):
        migrated = subprocess.run(
            [sys.executable, "manage.py", "migrate", "-v0"],
            cwd=ROOT,
            env=environment(tmp_path),
            timeout=TIMEOUT_SECONDS,
        )
        assert migrated.returncode == 0
        with psycopg.connect(embedded(tmp_path), autocommit=True) as other:
            other.execute(lock_statement)
            server = start(tmp_path, terminal=True)
            server.read(until=phase)
            wait_for(lambda: other.execute(waiting).fetchone() is not None)
            os.killpg(server.process.pid, signal.SIGINT)
            assert server.stop() == 0
            assert server.text.endswith("\r\nStopped.\r\n")
            assert "Traceback" not in server.text
            wait_for(lambda: other.execute(OTHERS).fetchone() is None)
            with pytest.raises(ProcessLookupError):
                os.killpg(server.process.pid, 0)
    again = start(tmp_path)
    again.ready()
    assert [again.status(token) for token in again.tokens()] == [200, 200]
    assert again.stop() == 0


def test_ctrl_c_while_python_still_imports_ends_with_a_line(tmp_path):
    (tmp_path / "dj_database_url.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environ = environment(tmp_path) | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT, env=environ, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    assert one_line(done) == "Stopped.\n"


@pytest.mark.parametrize("port", ["abc", "0", "65536", "-1", "8000.5", "²"])
def test_an_invalid_port_is_refused_in_one_line(tmp_path, port):
    assert f"PORT must be a number from 1 to 65535, not {port!r}" in one_line(serve(tmp_path, f"--port={port}"))


@pytest.fixture
def small_disk(tmp_path, request) -> Iterator[Path]:
    """A folder on a disk of 16 MB, too small for a database, or of the size that the test sets.

    Mounting needs root, and the permission to mount.
    """
    size = getattr(request, "param", 16)
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}m,mode=700", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("full", [False, True])
def test_a_full_disk_is_named_in_a_line(small_disk, full):
    serve(small_disk, "--port=0")  # refused, but the secret key now exists
    if full:
        fill(small_disk)
    assert f"The disk of {small_disk} is full" in one_line(serve(small_disk, f"--port={free_port()}"))


def fill(disk: Path) -> None:
    """Fill the disk until the file ``filling`` is removed."""
    with (disk / "filling").open("ab", buffering=0) as filling, suppress(OSError):
        while filling.write(bytes(4096)):
            pass


def ended(database: psycopg.Connection) -> bool:
    """Make the database write to its transaction log. Returns whether the database ended."""
    try:
        database.execute("SELECT pg_logical_emit_message(true, 'x', repeat('y', 1000000))")
    except psycopg.OperationalError:
        return database.closed
    return False


@pytest.mark.parametrize("small_disk", [320], indirect=True)
def test_a_disk_that_fills_up_ends_nothing_for_good(small_disk, start, monkeypatch):
    for limit in ("OVERALL", "ENDPOINT"):
        monkeypatch.setenv(f"RATE_LIMIT_{limit}", "1000000/60")
    monkeypatch.setenv("QUOTA_TAGS", "1000000")
    server = start(small_disk)
    server.ready()
    server.read_on()  # its log is larger than a pipe's buffer
    site = f"http://127.0.0.1:{server.port}/v4"
    api = requests.Session()
    api.headers["Authorization"] = f"Bearer {server.tokens()[0]}"
    answered: set[int] = set()

    def tag(number: int) -> int:
        answer = api.post(f"{site}/tags", json={"label": f"tag-{number}-{'x' * 30}"}, timeout=TIMEOUT_SECONDS)
        answered.add(answer.status_code)
        return answer.status_code

    body = {"label": "later", "region": "us-east"}
    target = api.post(f"{site}/images/upload", json=body, timeout=TIMEOUT_SECONDS).json()["upload_to"]
    numbers = count()
    database = psycopg.connect(embedded(small_disk), autocommit=True)
    # A new file of 16 MB for the transaction log: it has room until the test fills it on purpose below. A
    # database that ended itself earlier could not report that there is no room.
    database.execute("SELECT pg_switch_wal()")
    assert tag(next(numbers)) == 200
    fill(small_disk)
    wait_for(lambda: tag(next(numbers)) == 503)
    data = gzip.compress(os.urandom(400_000))
    refused = requests.put(target, data, timeout=TIMEOUT_SECONDS)
    assert (refused.status_code, refused.json()["errors"][0]["reason"]) == (503, reasons.NO_ROOM)
    wait_for(lambda: not list(small_disk.glob("uploads/*.part")))
    # the transaction log cannot grow either: PostgreSQL ends itself, and does not start without room
    wait_for(lambda: ended(database))
    for _ in range(20):
        tag(next(numbers))
    (small_disk / "filling").unlink()
    wait_for(lambda: tag(next(numbers)) == 200)
    assert answered == {200, 503}
    wait_for(lambda: requests.put(target, data, timeout=TIMEOUT_SECONDS).status_code == 200)
    # workers are back too
    mine = {"X-Filter": json.dumps({"label": "later"})}
    images = partial(api.get, f"{site}/images", headers=mine, timeout=TIMEOUT_SECONDS)
    wait_for(lambda: '"status":"available"' in images().text)
