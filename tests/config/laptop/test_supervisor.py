"""The supervisor in a process of its own, because signals affect a whole process."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from config.laptop.serving.supervisor import pause_after
from tests.waiting import wait_for

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import os, signal, sys, time
from config.laptop.serving.supervisor import Child, Supervisor
from pathlib import Path
folder, *stubborn = sys.argv[1:]

def main():
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pid = os.fork()
    Path(folder, f"{os.getpid()}." + ("parent" if pid else "child")).touch()
    time.sleep(600)

with Supervisor([Child("one", main)], lambda: None, lambda line: print(line, flush=True)) as supervisor:
    supervisor.run_until(lambda: False)
print("stopped", flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start a supervisor whose one child forks another. Returns it with its output as a pipe."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
    # until the end of their output: a process that was just forked has not printed yet, and would keep it open
    while started:
        for pid in filter(lives, pids(tmp_path, "*")):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started[-1].communicate(timeout=0.1)
            started.pop()


def pids(folder, kind):
    return [int(path.stem) for path in folder.glob(f"*.{kind}")]


def lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything(start, tmp_path, number):
    supervisor = start()
    wait_for(lambda: len(pids(tmp_path, "*")) == 2)
    os.killpg(supervisor.pid, number)  # as a terminal does, to the whole group
    output, _ = supervisor.communicate(timeout=120)
    assert output == "stopped\n"
    wait_for(lambda: not any(lives(pid) for pid in pids(tmp_path, "*")))  # a killed process takes a moment to end


def test_a_child_that_does_not_end_is_killed_with_all_it_forked(start, tmp_path):
    supervisor = start("stubborn")
    wait_for(lambda: len(pids(tmp_path, "*")) == 2)
    supervisor.terminate()
    supervisor.communicate(timeout=120)
    wait_for(lambda: not any(lives(pid) for pid in pids(tmp_path, "*")))


def test_a_dead_child_is_replaced_and_its_own_children_go(start, tmp_path):
    supervisor = start()
    wait_for(lambda: len(pids(tmp_path, "*")) == 2)
    [parent], [child] = pids(tmp_path, "parent"), pids(tmp_path, "child")
    os.kill(parent, signal.SIGKILL)
    assert supervisor.stdout.readline() == "one ended (SIGKILL), again in 0.5 s\n"
    wait_for(lambda: not lives(child))
    wait_for(lambda: len(pids(tmp_path, "parent")) == 2)


def test_children_do_not_outlive_a_killed_supervisor(start, tmp_path):
    supervisor = start()
    wait_for(lambda: len(pids(tmp_path, "*")) == 2)
    supervisor.kill()
    [parent] = pids(tmp_path, "parent")
    wait_for(lambda: not lives(parent))


def test_a_child_that_is_killed_a_few_times_is_back_at_once_each_time(start, tmp_path):
    supervisor = start()
    for _ in range(4):
        wait_for(lambda: any(lives(pid) for pid in pids(tmp_path, "parent")))
        [parent] = filter(lives, pids(tmp_path, "parent"))
        os.kill(parent, signal.SIGKILL)
        assert supervisor.stdout.readline() == "one ended (SIGKILL), again in 0.5 s\n"


def test_a_child_that_cannot_live_is_started_ever_less_often():
    pauses = [pause_after(deaths) for deaths in range(1, 14)]
    assert pauses == [*[0.5] * 5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert pause_after(10_000) == 30
