"""Clients that send or read slowly, on the real server: they block no other client, and their answers are
limited."""

import gzip
import re
import socket

import psutil
import pytest
import requests

from compute.models import Job
from compute.services.images.images import begin_upload
from compute.services.images.uploads import sign
from config.server.answers import OF_ADDRESS
from tests.waiting import wait_for

pytestmark = pytest.mark.system

WORKERS = 2
STALLED = 64
"""The number of bodies: many times the server's threads for requests."""
SECONDS = 300
HEAD = (
    b"POST /oauth/token HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n"
)


def test_stalled_bodies_keep_nobody_waiting(fleet):
    # Longer than any other request may take here, so no request is answered because a stalled one was cut off.
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
        # a stalled client that continues is answered
        stalled[0].sendall(b"r" * 999)
        assert stalled[0].recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 401")
        # a body that is too large is answered, although its sender reads only after sending all of it
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
        # a client that disconnects frees its place
        stalled[1].close()
        wait_for(lambda: len(list(uploads.glob("*.part"))) == len(stalled) - 2)
    finally:
        for connection in stalled:
            connection.close()


def test_answers_that_nobody_reads_are_bounded_and_end(fleet):
    fleet.env |= {"ANSWER_TIMEOUT": "5"}
    fleet.web()
    site = f"http://127.0.0.1:{fleet.port}"
    size = len(requests.get(f"{site}/openapi.json", headers={"Accept-Encoding": None}, timeout=SECONDS).content)
    (web,) = psutil.Process(fleet.others[-1].pid).children()
    silent = [deaf_client(fleet.port) for _ in range(STALLED)]
    try:
        statuses = [client.recv(12)[9:] for client in silent]
        assert set(statuses) == {b"200", b"429"}
        assert statuses.count(b"200") <= OF_ADDRESS // size
        for _ in range(8):
            assert requests.get(f"{site}/v4/regions", timeout=SECONDS).status_code == 200
        ports = {
            client.getsockname()[1] for client, status in zip(silent, statuses, strict=True) if status == b"200"
        }
        wait_for(lambda: not ports & {each.raddr.port for each in web.net_connections() if each.raddr}, every=0.2)
        # a client that reads all of it, however slowly, gets it
        wait_for(lambda: len(read_slowly(fleet.port)) == size, every=0.2)
    finally:
        for client in silent:
            client.close()


def deaf_client(port: int) -> socket.socket:
    """Return a client that requests a large document, and has room for a few kilobytes of it."""
    client = socket.socket()
    client.settimeout(SECONDS)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return client


def read_slowly(port: int) -> bytes:
    """Return the large document, or its refusal, read a little at a time."""
    with deaf_client(port) as client:
        head, _, body = client.recv(4096).partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        while len(body) < length and (piece := client.recv(4096)):
            body += piece
        return body
