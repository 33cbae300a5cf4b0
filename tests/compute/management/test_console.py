"""``manage.py console`` connects the terminal to the instance's console."""

import os
import pty
import socket
import threading
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from compute.drivers.consoles import SocketConsole
from compute.management.commands.console import carry, raw_terminal
from compute.models import Instance
from compute.worker import consoles
from config.laptop.serving import demo
from tests.compute.worker.scenarios import deployed
from tests.factories import AccountFactory, InstanceFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(world, driver, monkeypatch) -> Instance:
    monkeypatch.setattr(consoles.open_console, "__defaults__", (driver,))
    monkeypatch.setattr(consoles.ssh_command, "__defaults__", (driver,))
    return deployed(world, driver, label="web-1")


def how(name: str) -> str:
    output = StringIO()
    call_command("console", name, how=True, stdout=output)
    return output.getvalue()


def test_login_commands_are_shown_by_id_and_by_label(instance, settings):
    settings.STATE_DIR = settings.BASE_DIR / ".state"
    address = instance.addresses.get(public=True).address
    for name in ("web-1", str(instance.pk)):
        assert how(name) == f"on its console:  manage.py console web-1\nby ssh:          ssh root@{address}\n"


@pytest.mark.parametrize(
    ("folder", "prefix"), [(".state-2", "STATE_DIR=.state-2 "), ("/tmp/a b", "STATE_DIR='/tmp/a b' ")]
)
def test_a_line_to_type_names_the_state_folder_that_is_not_the_usual_one(instance, settings, folder, prefix):
    settings.STATE_DIR = settings.BASE_DIR / folder
    assert how("web-1").startswith(f"on its console:  {prefix}manage.py console web-1\n")
    shown = demo.banner(8000, demo.Logins(), demo.REAL)
    lines = [line for line in shown.splitlines() if " manage.py console first-" in line]
    assert [line.startswith(f"  {prefix}") for line in lines] == [True, True]


def test_a_port_of_the_host_leads_in_where_it_has_one(instance, driver, monkeypatch):
    monkeypatch.setattr(type(driver), "ssh_port", lambda self, machine: 40022)
    assert "ssh -p 40022 root@127.0.0.1" in how("web-1")


def test_an_unknown_or_stopped_instance_is_reported_in_one_line(instance, driver):
    with pytest.raises(CommandError, match="No instance has the id or label nobody"):
        how("nobody")
    InstanceFactory(label="web-1", account=AccountFactory())
    with pytest.raises(CommandError, match=f"Use one of their ids: {instance.pk}, "):
        how("web-1")
    driver.stop(f"skerry-{instance.pk}")
    with pytest.raises(CommandError, match="web-1 is not running"):
        how(str(instance.pk))
    with pytest.raises(CommandError, match="web-1: The machine is off"):
        call_command("console", str(instance.pk))


class Terminal:
    """A console, and a person's terminal."""

    def __init__(self):
        ours, self.machine = socket.socketpair()
        self.person, keys = pty.openpty()
        self.console = SocketConsole(ours)
        self._thread = threading.Thread(target=self._run, args=(keys,))
        self._thread.start()

    def _run(self, keys: int) -> None:
        with raw_terminal(keys):
            carry(self.console, keys, keys)
        os.close(keys)

    def sees(self, text: bytes) -> None:
        seen = b""
        while text not in seen:
            seen += os.read(self.person, 4096)

    def gone(self) -> None:
        self._thread.join()
        os.close(self.person)
        self.machine.close()


def test_both_directions_are_carried_until_somebody_leaves():
    terminal = Terminal()
    terminal.machine.sendall(b"login: ")
    terminal.sees(b"login: ")
    os.write(terminal.person, b"root\r\x03")
    typed = b""
    while typed != b"root\r\x03":
        typed += terminal.machine.recv(100)
    os.write(terminal.person, b"x\x1dy")
    terminal.gone()
    assert typed == b"root\r\x03"


def test_a_console_ends_with_its_machine():
    terminal = Terminal()
    terminal.machine.sendall(b"bye")
    terminal.sees(b"bye")
    terminal.machine.shutdown(socket.SHUT_RDWR)
    terminal.gone()
