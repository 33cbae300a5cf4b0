"""Control groups of machines and tasks.

No machine that runs the tests has systemd as its first process. A program in its place records its arguments
and becomes the command, as systemd-run does.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import control_groups, tasks
from compute.drivers.qemu.agent.control_groups import Limits
from compute.drivers.qemu.agent.machines import lifecycle
from tests.compute.drivers.qemu.hosts import MACHINE, run_machine

STANDS_IN = """#!{python}
import os, sys
with open("{calls}", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
command = sys.argv[sys.argv.index("--") + 1:]
os.execvp(command[0], command)
"""


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with systemd. Returns the file with the arguments of systemd-run."""
    calls, programs = tmp_path / "calls", tmp_path / "programs"
    programs.mkdir()
    program = programs / "systemd-run"
    program.write_text(STANDS_IN.format(python=sys.executable, calls=calls))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setattr(control_groups, "BOOTED", tmp_path)
    monkeypatch.setattr(control_groups.os, "geteuid", lambda: 0)
    return calls


def test_without_systemd_a_command_is_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(control_groups, "BOOTED", tmp_path / "nothing")
    assert control_groups.in_scope("skerry-7", Limits(1024, 1, 10), ["true"]) == ["true"]


def test_without_root_programs_run_without_a_scope(systemd, monkeypatch):
    monkeypatch.setattr(control_groups.os, "geteuid", lambda: 1000)
    assert control_groups.in_scope("skerry-7", Limits(1024, 1, 10), ["true"]) == ["true"]


def test_a_scope_has_its_limits_and_a_name_of_its_own(systemd):
    one = control_groups.in_scope("skerry-7", Limits(1024, 1.5, 10), ["true", "it", "is"])
    assert one[-4:] == ["--", "true", "it", "is"]
    for wanted in ("MemoryMax=1024M", "CPUQuota=150%", "TasksMax=10", "IOWeight=100", "MemorySwapMax=0"):
        assert f"--property={wanted}" in one
    assert any(each.startswith("--unit=skerry-7-") for each in one)


def test_the_memory_limit_includes_the_overhead_of_qemu():
    assert control_groups.machine_limits(4096, 2, "kvm") == Limits(
        4096 + 512 + 256, 2.5, control_groups.MACHINE_TASKS
    )
    assert (
        control_groups.machine_limits(4096, 2, "tcg").memory
        == control_groups.machine_limits(4096, 2, "kvm").memory + control_groups.TRANSLATED
    )


@pytest.mark.guest
def test_a_machine_in_a_scope_is_on_and_reports(store, systemd):
    run_machine(store)
    assert lifecycle.power(store, MACHINE) == "on"
    [call] = [each for each in systemd.read_text().splitlines() if "agent.machines.supervisor" in each]
    assert "--scope" in call
    assert f"--unit={MACHINE}-" in call


def work(task: tasks.Task, store: object, path: str) -> None:
    Path(path).write_text("done")


def test_a_task_in_a_scope_has_its_lock_and_is_awaited(tmp_path, systemd):
    store = scopes_store(tmp_path)
    assert tasks.run(tmp_path / "tasks", "one", store, work, {"path": str(tmp_path / "result")}, patience=60).done
    assert (tmp_path / "result").read_text() == "done"
    assert "--unit=skerry-task-" in systemd.read_text()


def scopes_store(folder: Path) -> lifecycle.Store:
    return lifecycle.Store(folder / "host")


def test_a_program_that_stands_in_becomes_the_command(systemd):
    command = control_groups.in_scope("skerry-7", Limits(1, 1, 1), [sys.executable, "-c", "print(7)"])
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "7\n"
