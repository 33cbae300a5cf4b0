"""The processes of ``make serve``, which an operator runs as three services (docs/operating.md)."""

from functools import partial

from config.laptop.serving.supervisor import Child
from config.processes.programs import run_program


def commands(port: int, stream_port: int | None = 0) -> dict[str, list[str]]:
    """Return the module and the arguments of each process, by name: the web, stream, worker and clock processes.

    Without `stream_port`, the processes are few and small: one web process also serves streams, and a worker runs
    one job at a time.
    """
    # The supervisor runs Django's checks. Here they would copy shared memory, 10 MiB in the clock.
    celery = ["celery", "--quiet", "--skip-checks", "-A", "config.celery"]
    clock = {"clock": [*celery, "beat"]}
    if stream_port is None:
        web = [*_SERVER, "--workers", "1", "--ws", "--port", str(port), "config.rsgi:application"]
        worker = [*celery, "worker", "--concurrency", "1", *_WORKER]
        return {"web": ["granian", *web], "worker": worker} | clock
    web = [*_SERVER, "--workers", "2", "--no-ws", "--port", str(port), "config.rsgi:application"]
    # Only the stream process serves consoles.
    stream = [*_SERVER, "--workers", "1", "--ws", "--port", str(stream_port), "config.streams:application"]
    worker = [*celery, "worker", "--concurrency", "2", *_WORKER]
    return {"web": ["granian", *web], "stream": ["granian", *stream], "worker": worker} | clock


def children(port: int, stream_port: int | None) -> list[Child]:
    """Return the processes of `commands` as forks of this one. Import what they need before they start."""
    return [
        Child(f"skerry {name}", partial(run_program, *command))
        for name, command in commands(port, stream_port).items()
    ]


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

_WORKER = [
    *("--pool", "prefork"),
    # The clock's tasks have a queue of their own.
    *("--queues", "celery,clock"),
    *("-O", "fair"),
    "--without-gossip",
    "--without-mingle",
]
