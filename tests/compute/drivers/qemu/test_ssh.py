"""Hosts reached by ssh: permissions there, and calls while the host does not answer."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from compute.drivers.base import Console, DriverError, MachineSpec, Options, Power, Refused, Unreachable
from compute.drivers.qemu import ssh
from compute.drivers.qemu.agent import settings
from compute.drivers.qemu.agent.checks import OTHER_RELEASE
from compute.drivers.qemu.agent.machines import machine_dirs
from compute.drivers.qemu.agent.serving import agent_program
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.bundle import bundle
from compute.drivers.qemu.file_transfers import HostFile, copy_file
from compute.drivers.qemu.host_setup import NotJoined, scan
from compute.drivers.qemu.ssh import Place
from tests.compute.drivers.machines import finish
from tests.compute.drivers.qemu.hosts import run_machine
from tests.compute.drivers.qemu.ssh_hosts import SshHost, public, ssh_hosts
from tests.waiting import wait_for

MACHINE, DISK = "skerry-7", "skerry-7-disk-1"
MB = 1 << 20


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[SshHost]]:
    """Two hosts that accept the platform's key."""
    with ssh_hosts(tmp_path, "hv1", "hv2") as made:
        for each in made:
            each.administrator.bring_agent()
            each.administrator.admit(public(each.identity))
        yield made


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SshHost]:
    with ssh_hosts(tmp_path, "hv1") as (made,):
        made.administrator.bring_agent()
        made.administrator.admit(public(made.identity))
        yield made


def define(host: SshHost) -> None:
    host.driver.define(MachineSpec(MACHINE, 1024, 1, "f2:3c:00:00:00:07"))


@pytest.mark.guest
def test_the_folder_of_connections_may_be_deep(tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    with ssh_hosts(deep, "hv1") as (made,):
        made.administrator.bring_agent()
        made.administrator.admit(public(made.identity))
        define(made)
        assert [path.name for path in made.identity.parent.glob("c-*")], "the connection is kept"


# --- locations and the file of the agent --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("ssh://root@hv1/var/lib/skerry", Place("root", "hv1", 22, "/var/lib/skerry")),
        ("ssh://hv1.example.net:2222/srv/skerry", Place("root", "hv1.example.net", 2222, "/srv/skerry")),
        ("ssh://root@[2001:db8::1]:22/srv", Place("root", "2001:db8::1", 22, "/srv")),
    ],
)
def test_a_location_says_where_ssh_leads_to(location, place):
    assert Place.of(location) == place


@pytest.mark.parametrize(
    "location",
    [
        "ssh://root@-oProxyCommand=x/srv", "ssh://-x@hv1/srv", "ssh://root:secret@hv1/srv", "ssh://hv1", "ssh:///srv",
        "ssh://root@[127.0.0.1:99999]:22/srv",
        "ssh://hv1:99999/srv", "ssh://hv1/srv/$(id)", "ssh://hv1/a b", "https://hv1/srv", "ssh://hv1/srv?x=1",
    ],
)  # fmt: skip
def test_a_location_that_is_none_is_refused(location):
    with pytest.raises(Refused):
        Place.of(location)


def test_a_key_that_is_none_is_refused(tmp_path):
    for key in ("", "ssh-ed25519", "ssh-ed25519 AAAA\n* ssh-ed25519 BBBB", "* ssh-ed25519 AAAA"):
        with pytest.raises(Refused):
            ssh.pinned(tmp_path, key)


@pytest.mark.parametrize(
    ("stderr", "text"),
    [
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @", ssh.OTHER_KEY),
        ("root@hv1: Permission denied (publickey).", ssh.NOT_ADMITTED),
        ("ssh: connect to host hv1 port 22: No route to host", ssh.NO_ANSWER),
    ],
)
def test_reasons_of_ssh_failures_name_nothing_of_the_host(stderr, text):
    assert ssh.why(stderr) == text


def test_the_same_sources_are_the_same_agent():
    again = bundle.__wrapped__()
    assert again == bundle()


def test_an_installed_agent_is_compiled_and_still_says_its_digest(tmp_path):
    (tmp_path / "agent.pyz").write_bytes(bundle().content)
    root = tmp_path / "root"
    program = [sys.executable, "-I"]
    subprocess.run([*program, str(tmp_path / "agent.pyz"), "install", str(root)], check=True)
    installed = root / agent_program.AGENT
    with zipfile.ZipFile(installed) as packed:
        assert "compute/drivers/qemu/agent/serving/calls.pyc" in packed.namelist()
    done = subprocess.run(
        [*program, str(installed), "answer", str(root)], input=b'{"verb": "digest", "values": {}}',
        capture_output=True, check=True,
    )  # fmt: skip
    assert bundle().digest in done.stdout.decode()
    assert os.listdir(root) == [agent_program.AGENT]


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"[]",
        b"7",
        b'{"verb": "power"}',
        b'{"verb": [], "values": {}}',
        b'{"verb": "x", "values": [7]}',
        b'{"verb": 1, "values": 2}',
    ],
)
def test_a_malformed_request_is_refused(request_, tmp_path):
    assert "refused" in agent_program.answer(agent_program.Store(tmp_path), request_)


def test_a_request_with_other_values_is_answered(tmp_path):
    response = agent_program.answer(agent_program.Store(tmp_path), b'{"verb": "power", "values": {"wrong": 1}}')
    assert response == {"failed": OTHER_RELEASE}


def test_an_unexpected_error_is_in_the_log_of_the_host_alone(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(agent_program, "call", lambda store, verb, values: {}["secret"])
    response = agent_program.answer(
        agent_program.Store(tmp_path), b'{"verb": "power", "values": {"machine": "skerry-7"}}'
    )
    assert response == {"failed": "The call failed. The log of the host has the reason."}
    assert capfd.readouterr().err == "'power' failed: agent.log of the host says why.\n"
    assert "KeyError: 'secret'" in (tmp_path / "agent.log").read_text()


def test_the_platform_may_not_name_files_of_the_host(tmp_path):
    wanted = b'{"verb": "import_image", "values": {"image": "a/b", "file": "/etc/shadow"}}'
    assert "administrator" in agent_program.answer(agent_program.Store(tmp_path), wanted)["refused"]


def test_a_directory_that_would_end_the_command_is_refused(tmp_path):
    with pytest.raises(agent_program.Refused):
        agent_program.admission(Path('/srv/"x'), "", "ssh-ed25519 AAAA")


# --- with an sshd -------------------------------------------------------------------------------------------------


@pytest.mark.guest
def test_verbs_answer_as_they_do_in_the_same_process(host):
    driver = host.driver
    assert driver.power(MACHINE) is Power.ABSENT
    define(host)
    assert driver.power(MACHINE) is Power.OFF
    assert driver.powered_off() == {MACHINE}
    with pytest.raises(Refused, match="does not exist"):
        driver.plug("skerry-8", "skerry-volume-1", "data")
    with pytest.raises(Refused):
        driver.power("../../etc")


@pytest.mark.guest
def test_the_platforms_key_runs_no_shell_and_goes_to_no_other_directory(host, tmp_path):
    command = host.agent.command
    touched = tmp_path / "touched"
    done = subprocess.run(
        [*command, "--", "127.0.0.1", f"touch {touched}"], input=b"touch " + bytes(touched),
        capture_output=True, cwd=host.agent.folder,
    )  # fmt: skip
    assert b"The request is not valid" in done.stdout
    assert not touched.exists()
    define(host)
    assert (host.root / "machines" / MACHINE).is_dir(), "the directory is that of authorized_keys"
    forwarded = subprocess.run(
        [*command, "-o", "ExitOnForwardFailure=yes", "-W", f"127.0.0.1:{host.port}", "--", "127.0.0.1"],
        input=b"", capture_output=True, cwd=host.agent.folder,
    )  # fmt: skip
    assert forwarded.returncode, "restrict forbids forwarding"


@pytest.mark.guest
def test_a_host_that_cannot_route_says_why(host):
    with pytest.raises(NotJoined, match="nonsense is not an IPv4 network" if not os.geteuid() else "need root"):
        host.administrator.have_route("nonsense")
    assert not settings.load(host.store).networking


@pytest.mark.guest
def test_a_host_with_another_key_does_not_answer(host):
    define(host)
    host.agent.close()
    host.change_key()
    with pytest.raises(Unreachable, match="pinned") as caught:
        host.driver.power(MACHINE)
    assert caught.value.host == "hv1"


@pytest.mark.guest
def test_a_host_that_was_killed_does_not_answer_and_does_again_when_it_is_back(host):
    define(host)
    host.kill()
    with pytest.raises(Unreachable) as caught:
        host.driver.power(MACHINE)
    assert caught.value.host == "hv1"
    host.start()
    assert host.driver.power(MACHINE) is Power.OFF


@pytest.mark.guest
def test_a_host_that_hangs_does_not_answer_within_the_time_of_a_call(host):
    define(host)
    host.process.send_signal(19)  # stopped: connections are accepted, and nothing is sent
    host.agent.close()
    try:
        with pytest.raises(Unreachable):
            ssh.Ssh(host.address, Options(3.0, identity=str(host.identity))).call("powered_off")
    finally:
        host.process.send_signal(18)
    assert host.driver.powered_off() == {MACHINE}


@pytest.mark.guest
def test_a_key_that_was_dismissed_is_let_in_no_longer(host):
    define(host)
    others = host.keys.read_text().splitlines()[0]
    host.administrator.admit(public(host.identity))
    assert len(host.keys.read_text().splitlines()) == 2, "it is there once"
    host.administrator.dismiss(public(host.identity))
    assert host.keys.read_text().splitlines() == [others]
    host.agent.close()
    with pytest.raises(Unreachable, match="key"):
        host.driver.power(MACHINE)


@pytest.mark.guest
def test_a_connection_serves_several_calls_and_processes(host):
    define(host)
    socket = [each for each in host.identity.parent.iterdir() if each.name.startswith("c-")]
    assert [each.is_socket() for each in socket] == [True]
    child = os.fork()
    if not child:
        os._exit(0 if host.agent.call("powered_off") == [MACHINE] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert host.agent.call("powered_off") == [MACHINE]


@pytest.mark.guest
def test_another_agent_is_reported_and_replaced(host):
    installed = host.root / agent_program.AGENT
    assert host.agent.is_current()
    with zipfile.ZipFile(installed) as packed:
        kept = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(installed, "w") as packed:
        for name, content in {**kept, "digest": b"of an earlier release"}.items():
            packed.writestr(name, content)
    assert not host.agent.is_current()
    with pytest.raises(Refused, match="host_update"):
        host.driver.prepare()
    host.administrator.bring_agent()
    host.administrator.bring_agent()
    assert host.agent.is_current()
    assert [each.name for each in host.root.iterdir() if each.name.startswith(".")] == []


@pytest.mark.guest
def test_a_host_without_an_agent_fails_and_is_reachable(host):
    (host.root / agent_program.AGENT).unlink()
    with pytest.raises(DriverError) as caught:
        host.driver.power(MACHINE)
    assert not isinstance(caught.value, Unreachable)


@pytest.mark.guest
def test_a_disk_is_carried_between_hosts_as_it_is(pair):
    first, second = pair
    for each in pair:
        define(each)
    content = first.store.disk(MACHINE, DISK)
    with content.open("wb") as file:
        file.truncate(64 * MB)
        for offset, length in ((0, 9 * MB), (30 * MB + 512, 4097), (63 * MB, MB)):
            file.seek(offset)
            file.write(os.urandom(length))
    place = ["disk", MACHINE, DISK]
    finish(lambda: copy_file(HostFile(first.agent, place), HostFile(second.agent, place), 0.01))
    carried = second.store.disk(MACHINE, DISK)
    assert carried.read_bytes() == content.read_bytes()
    assert carried.stat().st_blocks * 512 < 32 * MB, "holes stay holes"


@pytest.mark.guest
def test_a_machine_moves_between_hosts(pair):
    first, second = (each.driver for each in pair)
    define(pair[0])
    with pair[0].store.disk(MACHINE, DISK).open("wb") as file:
        file.write(os.urandom(3 * MB))
    wanted = pair[0].store.disk(MACHINE, DISK).read_bytes()
    finish(lambda: second.receive(MACHINE, first))
    assert (first.power(MACHINE), second.power(MACHINE)) == (Power.ABSENT, Power.OFF)
    assert pair[1].store.disk(MACHINE, DISK).read_bytes() == wanted


@pytest.mark.guest
def test_hosts_prove_that_they_have_the_same_volumes(pair, tmp_path):
    first, second = pair
    assert first.driver.same_volumes(second.driver)
    second.shared = tmp_path / "others"
    (second.shared / "volumes").mkdir(parents=True)
    second.administrator.admit(public(second.identity))
    second.agent.close()  # the permissions of a key are fixed when a connection begins
    assert not first.driver.same_volumes(second.driver)


@pytest.mark.parametrize(
    ("stderr", "found"),
    [
        ("connect to host: Connection refused\n" * 3, "port 22: connect to host: Connection refused. Check"),
        ("# hv1:22 SSH-2.0\nhv1: no route\nhv1: no route\n", "port 22: hv1: no route. Check"),
        ("", "port 22: it does not answer. Check the name and the port, that sshd runs there,"),
    ],
    ids=["refused", "with a comment", "silent"],
)
def test_a_host_that_does_not_answer_is_reported_once(tmp_path, monkeypatch, stderr, found):
    program = tmp_path / "ssh-keyscan"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{stderr}END\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(NotJoined) as caught:
        scan("ssh://root@hv1/var/lib/skerry")
    assert found in str(caught.value)
    assert str(caught.value).count("Connection refused") <= 1


@pytest.mark.guest
def test_the_first_contact_brings_a_guest_and_sees_the_key(host, tmp_path):
    assert scan(host.location) == host.host_key
    guest = tmp_path / "guest"
    with pytest.raises(NotJoined, match="kernels"):
        host.administrator.bring_guest(guest)
    for name in ("kernels/default/vmlinuz", "kernels/default/initrd", "images/a~b.raw"):
        (guest / name).parent.mkdir(parents=True, exist_ok=True)
        (guest / name).write_bytes(name.encode())
    for _ in range(2):
        host.administrator.bring_guest(guest)
        assert (host.root / "kernels/default/initrd").read_bytes() == b"kernels/default/initrd"
        assert [each["id"] for each in host.administrator.call("check")["images"]] == ["a/b"]


@pytest.mark.guest
def test_a_console_is_carried_in_both_directions(host, qemu):
    settings.save(host.store, Settings(accel="tcg", patience=500.0))
    machine = run_machine(host.store)
    try:
        console = host.driver.console(machine)
        read_until(console, b"one sector, login: ")
        console.write(b"a")
        read_until(console, b"a")
        with pytest.raises(DriverError, match="Another user"):
            host.driver.console(machine)
        console.close()
        wait_for(lambda: is_free(host, machine))
    finally:
        machine_dirs.cut(host.store.machine(machine), timeout=120)
    with pytest.raises(Refused, match="off"):
        host.driver.console(machine)
    host.kill()
    with pytest.raises(Unreachable):
        host.driver.console(machine)


def read_until(console: Console, text: bytes) -> None:
    shown = b""
    while text not in shown:
        piece = console.read()
        assert piece, shown
        shown += piece


def is_free(host: SshHost, machine: str) -> bool:
    try:
        host.driver.console(machine).close()
    except DriverError:
        return False
    return True
