"""Log lines: readable in development, JSON in production, each with its request or task and its subject."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

# The id of the request (``X-Request-ID``) or of the Celery task in this thread.
current_id: ContextVar[str] = ContextVar("current_id", default="-")


# The subject of this thread's work, by names of fields: account and user of a request, or job, instance and host of
# a job.
current_subject: ContextVar[Mapping[str, Any]] = ContextVar("current_subject", default={})  # noqa: B039 - never written


class AddId(logging.Filter):
    """Adds the current id to every record, as `request_id`, and the fields of the current subject."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_id.get()
        for name, value in current_subject.get().items():
            if not hasattr(record, name):  # a line with fields of its own
                setattr(record, name, value)
        return True


class LowerRefusals(logging.Filter):
    """Turns the errors that Django logs for refused requests into warnings without tracebacks.

    Anybody can send such a request, for example with a wrong ``Host`` or too many fields. Otherwise strangers could
    trigger an alarm that counts errors. Django logs each kind of `SuspiciousOperation` with a logger of its own.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security.") and record.levelno >= logging.ERROR:
            record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
        return True


class Readable(logging.Formatter):
    """Formats lines of development.

    The fields of production that identify the subject are at the end of the line.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - its name in logging
        fields = "".join(f" {name}={value}" for name, value in current_subject.get().items())
        return f"{super().formatMessage(record)} [{getattr(record, 'request_id', '-')}{fields}]"


@contextmanager
def about(**fields: Any) -> Iterator[None]:
    """Add these fields to the lines of the block. None of them may be a secret."""
    token = current_subject.set({name: value for name, value in fields.items() if value is not None})
    try:
        yield
    finally:
        current_subject.reset(token)


def write_line(logger: str, message: str, fields: dict[str, Any]) -> None:
    """Write an INFO line of production to standard error, in the format of the JSON formatter.

    It is for the line of every request: records, filters and handlers would take a sixth of a small request. The
    line is one write, so that lines of several processes do not mix.
    """
    line = {
        "level": "INFO",
        "logger": logger,
        "message": message,
        "request_id": current_id.get(),
        **fields,
        "timestamp": datetime.now(UTC),
    }
    os.write(2, orjson.dumps(line, default=str, option=orjson.OPT_APPEND_NEWLINE))


def configuration(*, production: bool, level: str) -> dict[str, Any]:
    """Return the LOGGING setting. Lines go to standard error. `level` is that of the project's loggers."""
    own = {"level": level}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "id": {"()": "config.processes.logging.AddId"},
            "refusals": {"()": "config.processes.logging.LowerRefusals"},
        },
        "formatters": {
            "readable": {
                "()": "config.processes.logging.Readable",
                "format": "%(asctime)s %(levelname)-7s %(name)s: %(message)s",
                "datefmt": "%H:%M:%S",
            },
            "json": {
                "()": "pythonjsonlogger.orjson.OrjsonFormatter",
                "fmt": ["levelname", "name", "message", "request_id"],
                "rename_fields": {"levelname": "level", "name": "logger"},
                "timestamp": True,
            },
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "filters": ["id", "refusals"],
                "formatter": "json" if production else "readable",
            },
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
        "loggers": {
            **dict.fromkeys(("access", "config", "accounts", "regions", "tags", "compute", "managed"), own),
            # Replaces Django's own handlers, which would mail admins and log a second line.
            "django": {"handlers": [], "level": "WARNING"},
            # A refused request is in the access log. The reason is for the client.
            "django.request": {"level": "ERROR"},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            # Below this level these loggers write authorization codes, tokens and verifiers.
            "authlib": {"level": "WARNING"},
            "oauthlib": {"level": "WARNING"},
            "oauth2_provider": {"level": "WARNING"},
            # The clock's tasks run every second, and the engine logs the work of each job.
            "celery": {"level": "WARNING"},
        },
    }
