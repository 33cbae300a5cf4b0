"""Real servers in folders of their own: started, shared, killed."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from config.laptop.embedded import EmbeddedError, Postgres, Shared, Valkey, addresses, services

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]

USE_SERVICES = """
import sys
from pathlib import Path
from config.laptop.embedded import services
with services(Path(sys.argv[1]), postgres=True, durable=False):
    print("up", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """One database cluster for all these tests, because making it takes long."""
    return tmp_path_factory.mktemp("state")


def connect(state):
    return psycopg.connect(
        host=str(addresses.socket_folder(state)), user=addresses.USER, dbname=addresses.DATABASE, autocommit=True
    )


def other_process(state):
    """Return a function that starts another process, which uses PostgreSQL until it is stopped."""
    process = subprocess.Popen(
        [sys.executable, "-c", USE_SERVICES, str(state)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    return process


def let_go(process):
    process.communicate("\n")
    assert process.returncode == 0


def kill_postgres(state):
    kill_server(int((state / "postgres" / "postmaster.pid").read_text().splitlines()[0]))


def kill_server(pid: int) -> None:
    server = psutil.Process(pid)
    server.kill()
    psutil.wait_procs([server], timeout=120)


def test_data_is_kept_from_one_start_to_the_next(state):
    with services(state, postgres=True, durable=False), connect(state) as connection:
        connection.execute("create table kept (id int)")
    with services(state, postgres=True, durable=False), connect(state) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)
    assert not Postgres(state).answers()


def test_the_last_user_of_a_service_stops_it(state):
    other = other_process(state)
    with services(state, postgres=True, durable=False):
        let_go(other)
        with connect(state) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    assert not Postgres(state).answers()


def test_a_killed_user_is_not_counted(state):
    other = other_process(state)
    with services(state, postgres=True, durable=False):
        other.kill()
        other.communicate()
    assert not Postgres(state).answers()


def test_a_killed_server_starts_again_with_its_data(state):
    with services(state, postgres=True, durable=False) as [postgres]:
        with connect(state) as connection:
            connection.execute("create table if not exists survivor (id int)")
            connection.execute("checkpoint")
        kill_postgres(state)
        assert postgres.revive()
        assert not postgres.revive(), "it runs"
        with connect(state) as connection:
            assert connection.execute("select count(*) from survivor").fetchone() == (0,)


def test_a_lock_file_that_a_crash_emptied_is_no_obstacle(state):
    with services(state, postgres=True, durable=False):
        kill_postgres(state)
        (state / "postgres" / "postmaster.pid").write_text("")
    with services(state, postgres=True, durable=False), connect(state) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_lock_files_with_a_pid_that_another_process_got_are_no_obstacle(state):
    with services(state, postgres=True, durable=False):
        socket = addresses.postgres_socket(state)
        locks = [state / "postgres" / "postmaster.pid", socket.with_name(f"{socket.name}.lock")]
        found = [lock.read_text().splitlines(keepends=True)[1:] for lock in locks]
        kill_postgres(state)
        for lock, rest in zip(locks, found, strict=True):
            lock.write_text(f"{os.getppid()}\n{''.join(rest)}")
    with services(state, postgres=True, durable=False), connect(state) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_set_up_that_was_cut_short_is_begun_anew(tmp_path):
    partial = tmp_path / "postgres.partial"
    partial.mkdir()
    (partial / "PG_VERSION").write_text("18\n")
    with services(tmp_path, postgres=True, durable=False), connect(tmp_path) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_data_of_another_version_is_refused_in_words(tmp_path):
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 16"), Shared(Postgres(tmp_path)):
        pass


def test_a_path_too_long_for_a_socket_works(tmp_path):
    state = tmp_path / ("deep" * 30)
    with services(state, postgres=True, valkey=True, durable=False), connect(state) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        assert redis.Redis.from_url(addresses.redis_url(state)).ping()


def test_valkey_starts_answers_and_stops(tmp_path):
    with services(tmp_path, valkey=True) as [valkey]:
        client = redis.Redis.from_url(addresses.redis_url(tmp_path))
        client.set("note", "7")
        kill_server(client.info("server")["process_id"])
        assert valkey.revive()
        assert client.get("note") is None, "nothing of it is on disk"
    assert not Valkey(tmp_path).answers()


def test_another_users_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(EmbeddedError, match="belongs to another user"), services(tmp_path, valkey=True):
        pass
