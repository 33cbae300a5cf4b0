"""Requests as the server passes them to Django's handler."""

import io
import json
from dataclasses import dataclass
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from config.web.handler import Handler


@dataclass
class Answer:
    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def call(method: str, path: str, content: bytes, content_type: str, token: str = "", **more: Any) -> Answer:
    """Handle a request as a server does."""
    for signal in (request_started, request_finished):
        # Django's test client reconnects it after each of its requests, and it would close the test's
        # connection
        signal.disconnect(close_old_connections)
    path, _, query = path.partition("?")
    seen: list[str] = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(content)),
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(content),
        "HTTP_AUTHORIZATION": f"Bearer {token}",
    }
    if not token:
        del environ["HTTP_AUTHORIZATION"]
    environ = {name: value for name, value in {**environ, **more}.items() if value is not None}
    body = b"".join(Handler()(environ, lambda status, headers: seen.append(status)))
    return Answer(int(seen[0][:3]), body)
