"""The QMP client, tested against a stand-in for QEMU, and in deep directories."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compute.drivers.qemu.agent.errors import details_of
from compute.drivers.qemu.agent.machines.qmp import QMP, QMPError, Silent

GREETING = {"QMP": {"version": {}}}


def listening(directory: Path) -> socket.socket:
    descriptor = os.open(directory, os.O_PATH)
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"/proc/self/fd/{descriptor}/qmp")
    os.close(descriptor)
    server.listen(1)
    return server


@contextmanager
def played(directory: Path, answer: Callable[[dict], list[dict]]) -> Iterator[Path]:
    """Yield a socket with a stand-in for QEMU. It sends the messages that `answer` returns for each command,
    and never ends."""
    server = listening(directory)

    def serve() -> None:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, connection.makefile("rw") as file:
            file.write(json.dumps(GREETING) + "\n")
            file.flush()
            for line in file:
                command = json.loads(line)
                lines = [{"return": {}}] if command["execute"] == "qmp_capabilities" else answer(command)
                if not lines:
                    return
                file.write("".join(json.dumps(each) + "\n" for each in lines))
                file.flush()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield directory / "qmp"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A directory whose path is longer than a socket's name may be."""
    found = tmp_path / ("a" * 100) / ("b" * 100)
    found.mkdir(parents=True)
    return found


def test_a_command_is_answered_however_deep_the_socket_is(deep):
    with played(deep, lambda command: [{"return": command["arguments"]}]) as path, QMP(path) as qemu:
        assert qemu.call("query", one=1, **{"node-name": "sda"}) == {"one": 1, "node-name": "sda"}


def test_events_are_kept_in_order_until_somebody_waits_for_them(deep):
    events = [{"event": "A", "data": {"n": 1}}, {"event": "B"}, {"event": "A", "data": {"n": 2}}]
    with played(deep, lambda command: [*events, {"return": {}}, {"event": "C"}]) as path, QMP(path) as qemu:
        qemu.call("go")
        assert qemu.wait("A", lambda data: data["n"] == 2)["data"] == {"n": 2}
        assert qemu.wait("C")["event"] == "C"
        assert [each["event"] for each in qemu.events] == ["A", "B"]


def test_an_error_of_qemu_keeps_its_text_for_the_log(deep):
    answer = {"error": {"class": "GenericError", "desc": "Device 'x' not found"}}
    with (
        played(deep, lambda command: [answer]) as path,
        QMP(path) as qemu,
        pytest.raises(QMPError) as caught,
    ):
        qemu.call("device_del", id="x")
    assert details_of(caught.value) == "device_del: Device 'x' not found"
    assert "Device" not in str(caught.value)


def test_a_qemu_that_ends_is_silent(deep):
    with played(deep, lambda command: []) as path, QMP(path) as qemu, pytest.raises(Silent):
        qemu.call("quit")


def test_a_qemu_that_does_not_listen_is_silent(deep):
    with pytest.raises(Silent):
        QMP(deep / "qmp")


def test_no_conversation_is_longer_than_its_time(deep):
    """Another client has the only place. The kernel accepts the connection, and no greeting comes."""
    with listening(deep):
        began = time.monotonic()
        with pytest.raises(Silent):
            QMP(deep / "qmp", timeout=0.2)
        assert time.monotonic() - began >= 0.2


def test_reading_returns_available_messages_and_detects_the_end(deep):
    with (
        played(
            deep, lambda command: [{"event": "A"}, {"return": {}}] if command["execute"] == "go" else []
        ) as path,
        QMP(path) as qemu,
    ):
        qemu.call("go")
        assert qemu.read()
        assert [each["event"] for each in qemu.events] == ["A"]
        with pytest.raises(Silent):
            qemu.call("end")
        assert not qemu.read()
