"""The parts of ``make serve`` that need no server."""

import fcntl
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from config.bootstrap import install
from config.laptop.embedded import EmbeddedError
from config.laptop.embedded.errors import full_disk
from config.laptop.serving import demo, lock
from config.laptop.serving import progress as progress_module
from config.laptop.serving.address import served_at
from config.laptop.serving.lock import Taken, database_locked, state_locked
from config.laptop.serving.progress import Progress
from tests.waiting import wait_for

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]
CHECK = "-m compute.drivers.qemu.this_machine"
SITE = "http://127.0.0.1:8000"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_phase_is_a_line_that_is_rewritten_on_a_terminal():
    progress = Progress(Terminal())
    with progress.phase("Migrating"):
        progress.count("Migrating: 1 of 2")
        progress.count("Migrating: 2 of 2")
    progress.say("Done")
    *rewritten, done = progress.stream.getvalue().splitlines(keepends=True)
    assert (
        "".join(rewritten).replace("\r\x1b[K", "|").startswith("|Migrating|Migrating: 1 of 2|Migrating: 2 of 2 (")
    )
    assert done == "Done\n"


def test_a_phase_that_fails_ends_its_line_on_a_terminal():
    progress = Progress(Terminal())
    with pytest.raises(KeyboardInterrupt), progress.phase("Migrating"):
        raise KeyboardInterrupt
    assert progress.stream.getvalue() == "\r\x1b[KMigrating\n"


def test_a_phase_is_a_plain_line_elsewhere_and_a_long_one_a_few():
    progress = Progress(io.StringIO())
    with progress.phase("Migrating"):
        for count in range(40):
            progress.count(f"Migrating: {count} of 45")
        progress._written -= 60  # a minute passes
        for count in range(40, 46):
            progress.count(f"Migrating: {count} of 45")
    assert progress.stream.getvalue() == "Migrating\nMigrating: 40 of 45\n"


def test_a_phase_that_only_waits_shows_its_seconds(monkeypatch):
    monkeypatch.setattr(progress_module, "TICK_SECONDS", 0.01)
    progress = Progress(Terminal())
    with progress.waiting("Booting"):
        wait_for(lambda: progress.stream.getvalue().count("\r\x1b[KBooting: 0 s") > 1)
    assert progress.stream.getvalue().endswith(" s)\n")
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt), progress.waiting("Booting"):
        raise KeyboardInterrupt
    assert threading.active_count() == threads


def test_the_seconds_begin_with_make_if_make_runs_the_server(monkeypatch):
    monkeypatch.setenv("SERVE_BEGAN", str(time.time() - 3600))
    assert Progress(io.StringIO()).seconds() >= 3600
    monkeypatch.delenv("SERVE_BEGAN")
    assert Progress(io.StringIO()).seconds() >= 0
    assert "SERVE_BEGAN := " in (ROOT / "Makefile").read_text()


def test_the_banner_begins_with_the_pages_and_the_line_for_another_terminal(settings, tmp_path):
    settings.STATE_DIR = tmp_path
    shown = demo.banner(9000, demo.Logins(owner="secret")).strip().splitlines()
    assert shown[2] == "pages:  http://127.0.0.1:9000/home"
    assert f"shell:  PORT=9000 STATE_DIR={tmp_path} . docs/shell.sh" in shown
    settings.STATE_DIR = settings.BASE_DIR / ".state"
    assert "shell:  . docs/shell.sh" in demo.banner(demo.DEFAULT_PORT, demo.Logins())


def test_a_state_folder_is_served_by_one_and_free_again_afterwards(tmp_path):
    with state_locked(tmp_path, SITE):
        with pytest.raises(Taken, match=f"runs at {SITE} and uses {tmp_path}"), state_locked(tmp_path, "other"):
            raise AssertionError
        with pytest.raises(Taken, match=f"runs at {SITE}"), state_locked(tmp_path, "other"):
            raise AssertionError
    with state_locked(tmp_path, "other"):
        assert (tmp_path / "serve.lock").read_text() == "other"
    assert (tmp_path / "serve.lock").read_text() == ""


def test_a_command_next_to_a_server_knows_its_address(tmp_path):
    assert served_at(tmp_path / "nowhere") == ""
    with state_locked(tmp_path, "http://127.0.0.1:8600"):
        assert served_at(tmp_path) == "http://127.0.0.1:8600"
        assert settings_of(tmp_path, {}) == "http://127.0.0.1:8600"
        assert settings_of(tmp_path, {"PORT": "9000"}) == "http://127.0.0.1:9000"
        assert settings_of(tmp_path, {"SITE_URL": "https://cloud.example.com"}) == "https://cloud.example.com"
    assert served_at(tmp_path) == ""
    (tmp_path / "serve.lock").write_text("http://127.0.0.1:8600")
    assert served_at(tmp_path) == "", "it was killed"
    (tmp_path / "serve.lock").write_bytes(b"\xff\xfe")
    assert served_at(tmp_path) == "", "commands work although a file is damaged"
    with state_locked(tmp_path, "http://elsewhere.example.com"):
        assert served_at(tmp_path) == ""


def settings_of(state, environment) -> str:
    """Return the SITE_URL of a command with these variables."""
    code = "from config import settings; print(settings.SITE_URL)"
    env = {"STATE_DIR": str(state), "PATH": "", **environment}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout[
        :-1
    ]


def test_a_look_at_the_lock_keeps_no_server_from_starting(tmp_path, monkeypatch):
    (tmp_path / "serve.lock").touch()
    with (tmp_path / "serve.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        monkeypatch.setattr(lock.time, "sleep", lambda seconds: fcntl.flock(other, fcntl.LOCK_UN))
        with state_locked(tmp_path, SITE):
            assert served_at(tmp_path) == SITE


def test_a_killed_process_releases_its_lock(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from config.laptop.serving.lock import state_locked\n"
        f"with state_locked(Path(sys.argv[1]), {SITE!r}): os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert (tmp_path / "serve.lock").read_text() == SITE
    with state_locked(tmp_path, "other"):
        assert (tmp_path / "serve.lock").read_text() == "other"


def test_a_file_is_no_state_folder(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(EmbeddedError, match="Cannot use the folder"), state_locked(path, SITE):
        raise AssertionError


@pytest.mark.django_db(transaction=True)
def test_a_database_is_served_by_one_and_free_again_afterwards():
    with database_locked():
        with pytest.raises(Taken, match="DATABASE_URL"), database_locked():
            raise AssertionError
        connection.close()
        with pytest.raises(Taken), database_locked():
            raise AssertionError
    with database_locked():
        pass


LOCKER = """
import os, signal, sys
from functools import partial
import django
django.setup()
from config.laptop.serving import lock
from config.laptop.serving.forks import end, fork
lock.TAKE_SECONDS, lock.CHECK_SECONDS = float(sys.argv[1]), 0.1
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
process = fork("skerry lock", partial(lock.keep_database_locked, os.getpid()))
signal.sigwait([signal.SIGTERM])
end([process], 60)
print("stopped")
"""
HOLDERS = f"""
SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
AND classid::bigint << 32 | objid::bigint = {lock.ADVISORY_LOCK} AND database = (
    SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""The backends that have the lock of the database."""


@contextmanager
def keeping_locked(process_env: dict[str, str], seconds: float) -> Iterator["subprocess.Popen[str]"]:
    """Run a process whose fork keeps the database locked. It tries for some seconds to take the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(seconds)],
        cwd=ROOT, env=process_env | {"DJANGO_SETTINGS_MODULE": "config.settings"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()


def holders() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(HOLDERS)
        return [pid for (pid,) in cursor.fetchall()]


@pytest.mark.django_db(transaction=True)
def test_a_lost_lock_of_the_database_is_taken_again(process_env):
    with keeping_locked(process_env, 600) as process:
        wait_for(holders)
        [first] = holders()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [first])
        wait_for(lambda: holders() not in ([], [first]))
        process.terminate()
        assert process.communicate(timeout=120)[0] == "stopped\n"
    wait_for(lambda: holders() == [])


@pytest.mark.django_db(transaction=True)
def test_a_server_whose_database_another_one_has_locked_stops(process_env):
    with database_locked(), keeping_locked(process_env, 0.1) as process:
        output, errors = process.communicate(timeout=120)
    assert (output, process.returncode) == ("stopped\n", 0)
    assert errors == "Another make serve uses the database of DATABASE_URL. Stop it, or name another database.\n"


def test_logins_stay_the_same(tmp_path):
    known = demo.logins(tmp_path)
    assert all((known.owner, known.staff, known.restricted))
    assert len({known.owner, known.staff, known.restricted}) == 3
    demo.keep(tmp_path, known)
    assert demo.logins(tmp_path) == known


def test_logins_of_an_earlier_release_are_kept(tmp_path):
    (tmp_path / "demo.json").write_text(json.dumps({"owner": "for-owner", "staff": "for-staff"}))
    known = demo.logins(tmp_path)
    assert (known.owner, known.staff, known.owner_token) == ("for-owner", "for-staff", "")
    assert known.restricted


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\xff"])
def test_logins_that_cannot_be_read_are_made_anew(tmp_path, text):
    (tmp_path / "demo.json").write_bytes(text.encode("latin-1"))
    assert demo.logins(tmp_path).owner


def test_a_full_disk_differs_from_other_errors(tmp_path):
    message = full_disk(tmp_path, 'could not extend file "base/5/1": No space left on device HINT: …')
    assert message is not None
    assert message.startswith(f"The disk of {tmp_path} is full (")
    assert full_disk(tmp_path, "connection refused") is None


def steps_of(*arguments: str) -> str:
    """Return the commands that make would run, a line each. Nothing is run."""
    command = ["make", "--dry-run", "serve", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_missing_programs_are_reported_before_an_installation(tmp_path):
    venv = tmp_path / "venv"
    steps = steps_of("HYPERVISOR=qemu", f"VENV={venv}")
    order = [steps.index(each) for each in (CHECK, "-m venv", "install.py")]
    assert order == sorted(order)
    assert CHECK not in steps_of("HYPERVISOR=", f"VENV={venv}")
    assert not venv.exists()


def test_pip_is_followed_in_silence_and_counted():
    collected: list[str] = []
    progress = install.Progress(3, terminal=True)
    out = io.StringIO()
    lines = ["Ignoring a: markers\n", "Collecting b==1\n", "  Downloading b.whl\n", "Collecting c==1\n"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        install.follow(iter([*lines, "WARNING: …\n"]), progress, collected)
    assert collected == [*lines, "WARNING: …\n"]
    shown = out.getvalue().split("\r\x1b[K")[1:]
    assert [text.partition(" (")[0] for text in shown] == [f"Downloading: {count} of 3" for count in (1, 2, 3)]


def test_output_of_pip_is_shown_if_it_fails(tmp_path):
    lock = tmp_path / "requirements.lock"
    lock.write_text("surely-no-such-package==1 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    command = [sys.executable, "-m", "config.bootstrap.install", str(lock)]
    env = {"PIP_NO_INDEX": "1", "PATH": ""}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "No matching distribution found for surely-no-such-package" in done.stdout
    assert "PIP_INDEX_URL" in done.stdout
    assert "\x1b" not in done.stdout


def test_pip_says_nothing_where_all_is_well(tmp_path):
    lock = tmp_path / "requirements.lock"
    lock.write_text("# nothing\n")
    command = [sys.executable, "-m", "config.bootstrap.install", str(lock)]
    done = subprocess.run(command, env={"PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Installing", "Installed"]
