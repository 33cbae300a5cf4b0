"""The services that a command of ``manage.py`` needs, whether or not ``make serve`` is running."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from config.environment.variables import is_set
from config.laptop.embedded import EmbeddedError, services

# Commands that read no table, or start the database themselves.
WITHOUT_DATABASE = {"help", "version", "check", "collectstatic", "serve", "spectacular"}


@contextmanager
def services_for(argv: list[str]) -> Iterator[None]:
    """Run the embedded PostgreSQL for the length of a command, unless DATABASE_URL names another.

    The broker is not started: most commands send no notifications, and lost notifications are sent again.
    """
    command = argv[1] if len(argv) > 1 else "help"
    asks_for_help = command.startswith("-") or not {"-h", "--help"}.isdisjoint(argv)
    if asks_for_help or command in WITHOUT_DATABASE or is_set("DATABASE_URL"):
        yield
        return

    from django.conf import settings

    try:
        with services(settings.STATE_DIR, postgres=True):
            yield
    except EmbeddedError as error:
        sys.exit(str(error))
