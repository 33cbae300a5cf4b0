"""The processes of ``make serve``, which an operator runs as three services (docs/operating.md)."""

import sys

from config.laptop.serving.supervisor import Child


def children(port: int, stream_port: int = 0) -> list[Child]:
    """Return the web, stream, worker and clock processes, as commands of this Python."""
    return [
        Child("web", [*_module("granian"), *_WEB, "--port", str(port), "config.rsgi:application"]),
        Child("stream", [*_module("granian"), *_STREAM, "--port", str(stream_port), "config.streams:application"]),
        Child("worker", [*_module("celery"), "--quiet", "-A", "config.celery", "worker", *_WORKER]),
        Child("clock", [*_module("celery"), "--quiet", "-A", "config.celery", "beat"]),
    ]


def _module(name: str) -> list[str]:
    # Celery warns when it runs as root. A container on a laptop often has no other user.
    return [sys.executable, "-W", "ignore::UserWarning:celery.platforms", "-m", name]


_SERVER = [
    *("--interface", "rsgi"),
    *("--host", "127.0.0.1"),
    # The maximum numbers of connections of a process, including idle and slow ones, and of connections that wait to
    # be accepted.
    *("--backpressure", "8192"),
    *("--backlog", "2048"),
    *("--http1-header-read-timeout", "20000"),
    "--respawn-failed-workers",
    *("--respawn-interval", "0.5"),
    *("--workers-kill-timeout", "3"),
    # For HTTP/2. Otherwise a silent connection would be kept for ever.
    *("--http", "1"),
    *("--log-level", "warning"),
]

# Only the stream process serves consoles.
_WEB = [*_SERVER, "--workers", "2", "--no-ws"]
_STREAM = [*_SERVER, "--workers", "1", "--ws"]

_WORKER = [
    *("--pool", "prefork"),
    *("--concurrency", "2"),
    # The clock's tasks have a queue of their own.
    *("--queues", "celery,clock"),
    *("-O", "fair"),
    "--without-gossip",
    "--without-mingle",
]
