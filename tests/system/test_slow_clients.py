"""Clients that send slowly, on the real server: they keep nobody waiting."""

import gzip
import socket

import pytest
import requests

from compute.models import Job
from compute.services.images.images import begin_upload
from compute.services.images.uploads import sign
from tests.waiting import wait_for

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


@pytest.mark.parametrize("application", ["config.streams", "config.rsgi"])
def test_stalled_uploads_keep_no_upload_waiting(fleet, world, application, tmp_path):
    uploads = tmp_path / "uploads"
    fleet.env |= {"UPLOAD_TIMEOUT": "100000", "UPLOADS_AT_ONCE": "100", "UPLOADS_DIR": str(uploads)}
    fleet.web(application=application)
    paths = [
        f"/uploads/images/{sign(begin_upload(world.actor, label='x', description=None, region=world.region.pk))}"
        for _ in range(STALLED // 2 + 1)
    ]
    data = gzip.compress(bytes(100_000))
    stalled = [socket.create_connection(("127.0.0.1", fleet.port), SECONDS) for _ in paths[1:]]
    try:
        for connection, path in zip(stalled, paths[1:], strict=True):
            head = f"PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}\r\n\r\n"
            connection.sendall(head.encode() + data[:50])
        wait_for(lambda: len(list(uploads.glob("*.part"))) == len(stalled))
        answer = requests.put(f"http://127.0.0.1:{fleet.port}{paths[0]}", data, timeout=SECONDS)
        assert (answer.status_code, answer.json()) == (200, {})
        stalled[0].sendall(data[50:])
        assert stalled[0].recv(12) == b"HTTP/1.1 200"
        assert Job.objects.filter(kind="import_image").count() == 2
        # who leaves gives the place up
        stalled[1].close()
        wait_for(lambda: len(list(uploads.glob("*.part"))) == len(stalled) - 2)
    finally:
        for connection in stalled:
            connection.close()
