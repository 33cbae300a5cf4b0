"""Forks of ``make serve``, in a process of their own: a fork of the tests' process would have its database."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TIMEOUT_SECONDS = 120

BEGIN = """
import fcntl, os, signal, sys, time
from contextlib import contextmanager, suppress
from pathlib import Path
from config.laptop.serving import forks
from config.laptop.serving.forks import end, fork, value_of_fork

folder = Path(sys.argv[1])


class Refused(Exception):
    pass
"""


def run(tmp_path: Path, program: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip


def test_a_fork_has_none_of_the_locks_of_its_parent(tmp_path):
    done = run(
        tmp_path,
        """
lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
process = fork("one", lambda: (folder / "runs").touch() or time.sleep(600))
while not (folder / "runs").exists():
    time.sleep(0.01)
os.close(lock)
with (folder / "lock").open() as other:
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("free")
process.terminate()
process.join()
""",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("free\n", "", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name no processes")
def test_a_fork_has_a_name_and_a_session_of_its_own(tmp_path):
    done = run(
        tmp_path,
        """
def main():
    print(Path("/proc/self/comm").read_text().strip(), os.getsid(0) == os.getpid(), flush=True)

fork("skerry clock", main).join()
""",
    )
    assert done.stdout == "skerry clock True\n", done.stderr


def test_the_value_of_a_fork_is_passed_and_the_fork_stays_until_the_end_of_the_block(tmp_path):
    done = run(
        tmp_path,
        """
@contextmanager
def work():
    try:
        yield os.getpid()
    finally:
        (folder / "left").touch()

with value_of_fork("one", work, (Refused, SystemExit)) as value:
    pid = value()
    os.kill(pid, 0)
    print(pid != os.getpid(), (folder / "left").exists())
print((folder / "left").exists())
with suppress(ProcessLookupError):
    os.kill(pid, 0)
    print("still there")
""",
    )
    assert (done.stdout, done.stderr) == ("True False\nTrue\n", "")


@pytest.mark.parametrize(
    ("error", "output", "code"),
    [
        ("Refused('it is taken')", "Refused it is taken", 0),
        ("SystemExit('no database')", "SystemExit no database", 0),
        ("os._exit(3)", "SystemExit 1", 0),
        ("ValueError('a bug')", "SystemExit 1", 0),
    ],
)
def test_an_error_in_a_fork_is_raised_where_its_value_is_read(tmp_path, error, output, code):
    raised = error if error.startswith("os.") else f"raise {error}"
    done = run(
        tmp_path,
        f"""
@contextmanager
def work():
    {raised}
    yield 1

try:
    with value_of_fork("one", work, (Refused, SystemExit)) as value:
        value()
except BaseException as caught:
    print(type(caught).__name__, caught)
""",
    )
    assert (done.stdout.strip(), done.returncode) == (output, code)
    assert ("ValueError: a bug" in done.stderr) == ("ValueError" in error)


def test_a_block_that_fails_ends_the_fork(tmp_path):
    done = run(
        tmp_path,
        """
@contextmanager
def work():
    (folder / str(os.getpid())).touch()
    time.sleep(600)
    yield 1

try:
    with value_of_fork("one", work, (Refused, SystemExit)):
        while not list(folder.iterdir()):
            time.sleep(0.01)
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
""",
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    [pid] = [int(path.name) for path in tmp_path.iterdir()]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


SLOW = """
def main():
    def stop(*_):
        time.sleep(seconds)
        (folder / "ended").touch()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    (folder / "runs").touch()
    time.sleep(600)

process = fork("one", main)
while not (folder / "runs").exists():
    time.sleep(0.01)
"""


def test_a_fork_may_end_in_order_although_single_waits_are_cut_short(tmp_path):
    done = run(
        tmp_path,
        f"""seconds = 2{SLOW}
whole = forks.wait
forks.wait = lambda sentinels, seconds: whole(sentinels, seconds / 1000)
end([process], {TIMEOUT_SECONDS})
print((folder / "ended").exists(), process.exitcode)
""",
    )
    assert (done.stdout, done.stderr) == ("True 0\n", "")


def test_a_fork_that_does_not_end_in_time_is_killed(tmp_path):
    done = run(
        tmp_path,
        f"seconds = 600{SLOW}end([process], 0.1)\nprint((folder / 'ended').exists(), process.exitcode)\n",
    )
    assert (done.stdout, done.stderr) == ("False -9\n", "")
