"""The console of a machine: its earlier output, and both directions."""

import fcntl
import os
import socket
import threading

import pytest

from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.machines import console, lifecycle
from tests.compute.drivers.qemu.hosts import MACHINE, boot, until_done, until_off
from tests.waiting import wait_for

pytestmark = pytest.mark.guest

BANNER = b"one sector, login: "


class Terminal:
    """A person at a console."""

    def __init__(self, store, machine: str = MACHINE):
        reader, self._keys = os.pipe()
        self._screen, writer = os.pipe()
        self.shown = b""
        self._showing = threading.Thread(target=self._show)
        self._attached = threading.Thread(target=self._attach, args=(store, machine, reader, writer))
        self._showing.start()
        self._attached.start()

    def _attach(self, store, machine: str, reader: int, writer: int) -> None:
        try:
            console.attach(store, machine, reader, writer)
        finally:
            os.close(reader)
            os.close(writer)

    def _show(self) -> None:
        while piece := os.read(self._screen, 4096):
            self.shown += piece

    def type(self, keys: bytes) -> None:
        os.write(self._keys, keys)

    def sees(self, text: bytes) -> None:
        wait_for(lambda: text in self.shown)

    def leave(self) -> None:
        os.close(self._keys)

    def gone(self) -> bytes:
        """Wait for the end of the console. Returns its output."""
        self._attached.join()
        self._showing.join()
        os.close(self._screen)
        return self.shown


def test_earlier_output_is_shown_and_typed_keys_arrive(store, running):
    terminal = Terminal(store)
    terminal.sees(BANNER)
    terminal.type(b"a")
    terminal.sees(BANNER + b"a")
    terminal.type(b"b")
    terminal.leave()
    assert terminal.gone() in (BANNER + b"a", BANNER + b"ab"), "nothing twice"
    wait_for(lambda: console.history(store, running) == BANNER + b"ab")


def test_a_console_has_one_user_at_a_time(store, running):
    terminal = Terminal(store)
    terminal.sees(BANNER)
    with pytest.raises(Failed, match="Another user"):
        console.attach(store, running, 0, 1)
    terminal.leave()
    terminal.gone()
    another = Terminal(store)
    another.sees(BANNER)
    another.leave()
    another.gone()


def test_a_console_ends_with_its_machine(store, running):
    terminal = Terminal(store)
    terminal.sees(BANNER)
    terminal.type(b"p")
    assert terminal.gone() == BANNER + b"p"
    terminal.leave()
    until_off(store)


def test_a_guest_continues_if_nobody_reads_its_console(store, running):
    """The guest prints more than pipes and sockets buffer. Only then does a person read."""
    reader, keys = os.pipe()
    screen, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    (store.machine(running) / "console.earlier").write_bytes(bytes(20_000))
    attached = threading.Thread(target=console.attach, args=(store, running, reader, writer))
    attached.start()
    os.write(keys, b"m")
    wait_for(lambda: console.history(store, running).count(b"m") > 600)
    os.write(keys, b"a")
    wait_for(lambda: console.history(store, running).endswith(b"a"))
    shown = b""
    while not shown.endswith(b"a"):
        shown += os.read(screen, 4096)
    assert shown == console.history(store, running)
    os.close(keys)
    attached.join()
    for each in (reader, screen, writer):
        os.close(each)


def test_history_is_of_earlier_boots_too_and_has_an_end(store, running):
    until_done(lambda: lifecycle.stop(store, running))
    until_done(lambda: lifecycle.start(store, running, boot()))
    (store.machine(running) / "console.earlier").write_bytes(b"long ago: ")
    assert console.history(store, running) == b"long ago: " + BANNER + BANNER
    assert console.history(store, running, most=3) == BANNER[-3:]


def test_a_console_goes_on_when_its_log_begins_anew(store, running):
    terminal = Terminal(store)
    terminal.sees(BANNER)
    os.truncate(store.machine(running) / "console.log", 0)
    terminal.type(b"z")
    terminal.sees(b"z")
    terminal.leave()
    terminal.gone()


def test_leaving_a_hanging_machine_frees_the_console(tmp_path):
    """The person types more than sockets buffer, to a machine that hangs. The next person still gets the
    console."""
    (tmp_path / "console.log").write_bytes(b"")
    reader, keys = os.pipe()
    machine, connection = socket.socketpair()
    with machine, connection, open(os.devnull, "wb") as screen:
        attached = console.Attached(connection, console.Log(tmp_path / "console.log"))
        carrying = threading.Thread(target=attached.carry, args=(reader, screen.fileno()))
        carrying.start()
        for _ in range(1024):
            os.write(keys, bytes(4096))
        os.close(keys)
        carrying.join()
    os.close(reader)
