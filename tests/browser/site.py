"""The project's own web server, on the test's database, and a site of an app."""

import http.client
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from accounts.models import OAuthClient
from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 300
"""Seconds until the server's first answer, on a busy machine."""


class Site:
    """A server process. `url` has no slash at its end."""

    def __init__(self, env: dict[str, str], log: Path):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "granian", "--interface", "rsgi", "--host", "127.0.0.1",
                    "--port", str(self.port), "--workers", "2", "--workers-kill-timeout", "30",
                    "tests.browser.application:application",
                ],
                cwd=ROOT, env=env | {"SITE_URL": self.url}, stdout=file, stderr=file,
            )  # fmt: skip

    def wait(self) -> None:
        """Return once it answers. Fails with its log if it does not."""
        deadline = time.monotonic() + SECONDS
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(SECONDS)


class AppSite(ThreadingHTTPServer):
    """An app's site, to which users are redirected: ``/done`` on an address of its own.

    `visits` are the queries of the browsers' requests, in order.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _AppPage)
        self.visits: list[dict[str, str]] = []
        self.netloc = f"127.0.0.1:{self.server_port}"
        self.redirect_uri = f"http://{self.netloc}/done"

    def __enter__(self) -> "AppSite":
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


class _AppPage(BaseHTTPRequestHandler):
    server: AppSite

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path == "/done":
            self.server.visits.append(dict(parse_qsl(asked.query)))
        page = b"<!doctype html><html lang=en><link rel=icon href=data:,><title>App</title><h1>Back at the app</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: `visits` has the requests."""


def consent(client: OAuthClient, scope: str = "computes:read_only account:read_write *", **changed: str) -> str:
    """Return the address to which a confidential client sends its users, at this site."""
    wish = {"response_type": "code", "client_id": client.client_id, "scope": scope, "state": "s", **changed}
    return "/oauth/authorize?" + "&".join(f"{name}={value}" for name, value in wish.items())
