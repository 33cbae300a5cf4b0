"""The compose file and the image: how an engine reads them, and files that must not get into the image."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from django.conf import settings

from tests.deploy.samples import MAX_REQUEST_SECONDS, ROOT, composed, services


def seconds(time: str) -> float:
    [(number, unit)] = re.findall(r"^(\d+)(s|m)$", time)
    return int(number) * {"s": 1, "m": 60}[unit]


@contextmanager
def answering(status: int) -> Iterator[tuple[int, list[str]]]:
    """Run a server that answers every request with this status. Yields its port and the requests."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers['Host']}")
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_up_can_wait_for_every_service():
    """`up --wait` fails for a service whose health check is disabled. Without a check, a service counts as
    ready when it runs.

    An image in the format of OCI, which Podman builds, has no health check, so ours has none either.
    """
    assert "HEALTHCHECK" not in (ROOT / "Containerfile").read_text()
    checked = {name for name, service in composed().items() if "healthcheck" in service}
    assert checked == {"postgres", "redis", "web1", "web2", "stream", "front"}
    for name in checked:
        assert "disable" not in composed()[name]["healthcheck"], name
    for name, service in composed().items():
        for other, wanted in service.get("depends_on", {}).items():
            assert (wanted["condition"] == "service_healthy") == (other in checked), f"{name} waits for {other}"


def test_the_health_check_asks_the_process_by_a_name_that_it_takes():
    command = services()["web1"]["healthcheck"]["test"]
    assert command == services()["web2"]["healthcheck"]["test"] == services()["stream"]["healthcheck"]["test"]
    assert command[:3] == ["CMD", "python3", "-c"]
    for status, code in ((200, 0), (503, 1)):
        with answering(status) as (port, asked):
            script = command[3].replace("127.0.0.1:8000", f"127.0.0.1:{port}")
            done = subprocess.run(
                [sys.executable, "-c", script],
                env={"ALLOWED_HOSTS": ".example.com,other.example"},
                capture_output=True,
            )
        assert done.returncode == code, done.stderr.decode()
        assert asked == ["/livez example.com"]


def test_the_database_is_ready_when_it_can_be_reached():
    """While it creates a new database, the image's server listens only on its socket, and then stops once more."""
    assert composed()["postgres"]["healthcheck"]["test"] == ["CMD", "pg_isready", "-h", "127.0.0.1", "-U", "skerry"]


def test_each_service_has_time_to_end():
    source = (ROOT / "config" / "settings.py").read_text()
    [drain] = re.findall(r'"DRAIN_SECONDS", (\d+) if PRODUCTION', source)
    for name, service in services().items():
        grace = seconds(service["stop_grace_period"])
        assert grace > int(drain) + MAX_REQUEST_SECONDS, name
        assert grace > settings.JOB_HARD_LIMIT, name


def test_no_secret_of_an_installation_gets_into_the_image_or_into_git():
    """Docker reads an ignore file of this name only. The file `.env` is next to the compose file."""
    assert not (ROOT / ".containerignore").exists()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".git", ".venv", ".state", "docs", "tests", "**/.env", "**/*.env"} <= set(ignored)
    assert not [line for line in ignored if line.startswith("!")]
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
