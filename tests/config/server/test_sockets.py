"""The sockets of a process: limits on unread bytes, which connections inherit, and closing of connections."""

import asyncio
import socket
import sys

import pytest

from config.server import sockets
from config.server.sockets import ReadTimeout, limit_unread, shut_down


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def connected(listening: socket.socket) -> tuple[socket.socket, socket.socket]:
    client = socket.create_connection(listening.getsockname())
    return client, listening.accept()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="the options of Linux")
def test_connections_inherit_the_limits_of_the_socket_that_accepts_them(listening):
    assert limit_unread(seconds=7) >= 1
    client, served = connected(listening)
    with client, served:
        assert served.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7000
        assert served.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == sockets.IN_KERNEL
        assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0


def test_the_limits_are_set_once_the_process_listens(monkeypatch):
    monkeypatch.setattr(sockets, "PAUSE", 0)
    calls = []

    def limit_unread(seconds: float) -> int:
        calls.append(seconds)
        return int(len(calls) == 3)

    monkeypatch.setattr(sockets, "limit_unread", limit_unread)

    async def serve() -> None:
        timeout = ReadTimeout(5)
        timeout.start(asyncio.get_running_loop())
        assert timeout.task is not None
        await timeout.task
        timeout.stop()

    asyncio.run(serve())
    assert calls == [5, 5, 5]


def test_a_process_that_does_not_listen_is_reported(monkeypatch, caplog):
    monkeypatch.setattr(sockets, "PAUSE", 0)
    monkeypatch.setattr(sockets, "limit_unread", lambda seconds: 0)
    asyncio.run(ReadTimeout(5)._set_when_listening())
    assert "No listening socket" in caplog.text


def test_only_the_connection_to_the_named_peer_is_ended(listening):
    (first, served_first), (second, served_second) = connected(listening), connected(listening)
    with first, served_first, second, served_second:
        host, port = first.getsockname()
        assert {f"{host}:{port}", sockets._written(second.getsockname())} <= shut_down({f"{host}:{port}"})
        assert first.recv(1) == b""
        served_second.sendall(b"x")
        assert second.recv(1) == b"x"


def test_addresses_are_written_as_the_server_writes_them():
    assert sockets._written(("192.0.2.1", 80)) == "192.0.2.1:80"
    assert sockets._written(("2001:db8::1", 80, 0, 0)) == "[2001:db8::1]:80"
    assert sockets._written("/run/socket") == ""
