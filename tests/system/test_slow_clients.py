"""Clients that send slowly, on the real server: they keep nobody waiting."""

import socket

import pytest
import requests

pytestmark = pytest.mark.system

WORKERS = 2
STALLED = 64
"""Of bodies, many times as many as the server has threads for requests."""
SECONDS = 300
HEAD = (
    b"POST /oauth/token HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n"
)


def test_stalled_bodies_keep_nobody_waiting(fleet):
    # Longer than any other request may take here: none is answered because a stalled one was cut off.
    fleet.env |= {"BODY_TIMEOUT": "100000"}
    fleet.web(WORKERS)
    site = f"http://127.0.0.1:{fleet.port}"
    stalled = [socket.create_connection(("127.0.0.1", fleet.port), SECONDS) for _ in range(STALLED)]
    try:
        for connection in stalled:
            connection.sendall(HEAD % 1000 + b"g")
        for _ in range(8):
            assert requests.get(f"{site}/v4/regions", timeout=SECONDS).status_code == 200
        form = {"grant_type": "password"}
        assert requests.post(f"{site}/oauth/token", form, timeout=SECONDS).status_code in (400, 401)
        # and whoever goes on after all is answered
        stalled[0].sendall(b"r" * 999)
        assert stalled[0].recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 401")
        # a body that is too large is answered, although its sender reads only after all of it
        assert requests.post(f"{site}/oauth/token", b"x" * 8_000_000, timeout=SECONDS).status_code in (400, 413)
    finally:
        for connection in stalled:
            connection.close()
