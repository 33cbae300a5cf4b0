"""The caller, the supervisor or QEMU is killed, each at any point."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import records
from compute.drivers.qemu.agent.errors import Failed, details_of
from compute.drivers.qemu.agent.machines import console, lifecycle, machine_dirs, supervisor
from compute.drivers.qemu.bundle import bundle
from tests.compute.drivers.qemu.hosts import (
    MACHINE,
    QEMU,
    boot,
    configure,
    make_machine,
    run_machine,
    until_done,
    until_off,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.guest


def start(store):
    return lifecycle.start(store, MACHINE, boot())


def process(store, of: str) -> int:
    """Return the process id of the machine's `qemu` or `supervisor`."""
    [found] = [
        each
        for each in machine_dirs.holders(store.machine(MACHINE))
        if (b"agent.machines.supervisor" in Path(f"/proc/{each}/cmdline").read_bytes()) == (of == "supervisor")
    ]
    return found


def test_a_machine_outlives_its_supervisor_and_nobody_knows_then_why_it_ended(store, running):
    os.kill(process(store, "supervisor"), signal.SIGKILL)
    wait_for(lambda: len(machine_dirs.holders(store.machine(running))) == 1)
    assert lifecycle.power(store, running) == "on"
    assert start(store).done
    until_done(lambda: lifecycle.stop(store, running))
    assert lifecycle.ended(store, running) == {"why": "unknown"}
    until_done(lambda: start(store))
    until_done(lambda: lifecycle.stop(store, running))
    assert lifecycle.ended(store, running)["why"] == "host-request"


def test_a_qemu_that_is_killed_is_off_and_known_to_be_killed(store, running):
    os.kill(process(store, "qemu"), signal.SIGKILL)
    until_off(store)
    assert lifecycle.ended(store, running)["why"] == "killed"
    assert lifecycle.ended(store, running)["status"] == -signal.SIGKILL
    until_done(lambda: start(store))


def test_both_killed_at_once_is_off(store, running):
    for pid in machine_dirs.holders(store.machine(running)):
        os.kill(pid, signal.SIGKILL)
    until_off(store)
    assert lifecycle.ended(store, running) == {"why": "unknown"}
    until_done(lambda: start(store))


def test_a_supervisor_is_no_child_of_its_starter_and_has_its_own_session(store, running):
    fields = Path(f"/proc/{process(store, 'supervisor')}/stat").read_text().rpartition(")")[2].split()
    parent, session = int(fields[1]), int(fields[3])
    assert parent != os.getpid()
    assert session != os.getsid(0)


# --- the caller ---------------------------------------------------------------------------------------------------


def killed(verb) -> None:
    """Run a verb in a process that is killed during it."""
    if os.fork() == 0:
        verb()
        os._exit(1)
    _, status = os.wait()
    assert os.WIFSIGNALED(status)


def die(*_args, **_kwargs):
    os.kill(os.getpid(), signal.SIGKILL)


AT_START = {
    "before the boot is written": ("compute.drivers.qemu.agent.records", "write"),
    "before the supervisor": ("compute.drivers.qemu.agent.machines.supervisor", "spawn"),
    "while the supervisor starts": ("subprocess", "Popen.wait"),
    "before the supervisor's report": ("compute.drivers.qemu.agent.machines.supervisor", "_report"),
    "after the report": ("compute.drivers.qemu.agent.machines.lifecycle", "_boot_progress"),
}


def killed_at_start(store, monkeypatch, point: str) -> None:
    module, name = AT_START[point]
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{name}", die)
        killed(lambda: start(store))


@pytest.mark.parametrize("point", AT_START)
def test_a_start_whose_caller_was_killed_is_finished_by_the_next(store, machine, monkeypatch, point):
    killed_at_start(store, monkeypatch, point)
    until_done(lambda: start(store))
    assert console.history(store, machine).count(b"login") == 1, "it has booted once"
    assert len(machine_dirs.holders(store.machine(machine))) == 2


@pytest.mark.parametrize("point", AT_START)
def test_a_stop_after_a_start_whose_caller_was_killed_is_the_end(store, machine, monkeypatch, point):
    """After a stop reports that the machine is off, no earlier start takes effect."""
    killed_at_start(store, monkeypatch, point)
    until_done(lambda: lifecycle.stop(store, machine))
    assert lifecycle.power(store, machine) == "off"
    lifecycle.undefine(store, machine)
    assert os.listdir(store.root / "machines") == []


@pytest.mark.parametrize("command", ["system_powerdown", "quit"])
def test_a_stop_whose_caller_was_killed_is_finished_by_the_next(store, monkeypatch, command):
    configure(store, grace=0.0 if command == "quit" else 60.0)
    run_machine(store)
    with monkeypatch.context() as patch:
        patch.setattr("compute.drivers.qemu.agent.machines.lifecycle._ask", die)
        killed(lambda: lifecycle.stop(store, MACHINE))
    assert lifecycle.power(store, MACHINE) == "on"
    until_done(lambda: lifecycle.stop(store, MACHINE))
    assert lifecycle.ended(store, MACHINE)["why"] == "host-request"


@pytest.mark.parametrize(
    "step",
    [
        "machines.lifecycle.cut",
        "networks.firewalls.remove",
        "machines.lifecycle.shutil.rmtree",
        "machines.lifecycle._remove_if_empty",
    ],
)
def test_a_removal_whose_caller_was_killed_is_finished_by_the_next(store, running, monkeypatch, step):
    with monkeypatch.context() as patch:
        patch.setattr(f"compute.drivers.qemu.agent.{step}", die)
        killed(lambda: lifecycle.undefine(store, running))
    lifecycle.undefine(store, running)
    assert lifecycle.power(store, running) == "absent"
    assert os.listdir(store.root / "machines") == []


# --- QEMU and the supervisor, at their start ----------------------------------------------------------------------


@pytest.fixture
def program(store, tmp_path):
    """Run a shell script in place of QEMU."""

    def write(script: str) -> None:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        configure(store, qemu=str(path))

    return write


def test_a_qemu_that_ends_at_once_is_reported_with_its_output(store, machine, program):
    program("echo 'it is full here' >&2; exit 3")
    with pytest.raises(Failed) as caught:
        start(store)
    assert details_of(caught.value) == "it is full here"
    assert lifecycle.power(store, machine) == "off"
    ended = lifecycle.ended(store, machine)
    assert (ended["why"], ended["status"], ended["stderr"]) == ("failed-to-start", 3, "it is full here")
    configure(store, qemu=QEMU)
    until_done(lambda: start(store))


def test_a_host_without_qemu_says_so(store, machine):
    configure(store, qemu="/nowhere/qemu")
    with pytest.raises(Failed) as caught:
        start(store)
    assert "/nowhere/qemu" in details_of(caught.value)
    assert lifecycle.ended(store, machine)["why"] == "failed-to-start"


def test_a_supervisor_that_is_killed_while_qemu_starts_leaves_a_machine_that_is_on(store, machine, program):
    program(f'kill -9 $PPID; exec {QEMU} "$@"')
    with pytest.raises(Failed):
        start(store)
    until_done(lambda: start(store))
    assert lifecycle.power(store, machine) == "on"
    until_done(lambda: lifecycle.stop(store, machine))


def test_a_supervisor_and_a_qemu_that_are_killed_at_their_start_leave_one_that_is_off(store, machine, program):
    program("kill -9 $PPID; kill -9 $$")
    with pytest.raises(Failed):
        start(store)
    until_off(store)
    configure(store, qemu=QEMU)
    until_done(lambda: start(store))


def test_a_second_supervisor_leaves_the_first_one_its_machine(store, running):
    with machine_dirs.locked_machine(store, running) as (directory, lock):
        assert supervisor.spawn(directory, lock) == {"on": True}
    wait_for(lambda: len(machine_dirs.holders(store.machine(running))) == 2)
    assert console.history(store, running).count(b"login") == 1


def test_a_supervisor_is_started_from_a_zip_file_as_well(store, machine, tmp_path):
    """On a host, all code is in one zip file."""
    import subprocess

    file = tmp_path / "agent.pyz"
    file.write_bytes(bundle().content)
    script = (
        "import sys, json, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from compute.drivers.qemu.agent import store\n"
        "from compute.drivers.qemu.agent.machines import lifecycle\n"
        "print(lifecycle.start(store.Store(pathlib.Path(sys.argv[2])), sys.argv[3], json.loads(sys.argv[4])))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(file), str(store.root), machine, json.dumps(boot())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    until_done(lambda: start(store))
    assert str(file).encode() in Path(f"/proc/{process(store, 'supervisor')}/environ").read_bytes()


# --- logs ---------------------------------------------------------------------------------------------------------


def test_a_log_that_grew_begins_anew_and_its_content_is_kept_once(tmp_path):
    (tmp_path / "console.log").write_bytes(b"0123456789")
    (tmp_path / "stderr").write_bytes(b"0123456789")
    supervisor.trim(tmp_path, most=10)
    assert not (tmp_path / "console.earlier").exists()
    supervisor.trim(tmp_path, most=4)
    assert (tmp_path / "console.earlier").read_bytes() == b"6789"
    assert (tmp_path / "console.log").read_bytes() == b""
    assert (tmp_path / "stderr").read_bytes() == b""
    supervisor.trim(tmp_path / "nowhere", most=4)


def test_a_record_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "record.json"
    assert records.read(path) is None
    records.write(path, {"a": 1})
    records.write(path, {"b": 2})
    assert records.read(path) == {"b": 2}
    assert os.listdir(tmp_path) == ["record.json"]


def test_a_name_cannot_leave_its_directory(store):
    for name in ("../x", "", "a/b", "A", "x" * 64):
        with pytest.raises(Failed):
            make_machine(store, name)
