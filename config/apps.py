from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, reset_queries
from django.db.backends.signals import connection_created

from config import word
from config.db.connections import set_up
from config.environment.variables import import_named
from config.errors import Problem


class ConfigConfig(AppConfig):
    """The app of the commands that belong to the whole project: ``serve`` and ``rotate_keys``."""

    name = "config"

    def ready(self) -> None:
        """Reduce the work for each request to what long-lived connections need.

        Django itself checks the age of every connection twice, and every cache: a tenth of a small request.
        """
        from config.environment import checks  # noqa: F401  (registers itself)

        import_named("DRIVERS", "RDNS_RESOLVER", "SMS_GATEWAY")
        Problem.spell = word.unquoted  # with a word, web processes replace it (config/wsgi.py)
        request_started.disconnect(close_old_connections)
        request_finished.disconnect(close_old_connections)
        request_finished.disconnect(close_caches)
        if not settings.DEBUG:
            request_started.disconnect(reset_queries)
        request_finished.connect(leave_connection_usable)
        connection_created.connect(set_up)


def leave_connection_usable(**kwargs: Any) -> None:
    """Close this thread's connection if it failed or is still in a transaction. The next request opens a new one.

    The next request has committed nothing yet, so `committed` is reset: `config.db.postgresql.base.client_error`
    reads it.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    connection.committed = False  # type: ignore[attr-defined] # of `config.db.postgresql`
    if connection.in_atomic_block:
        return  # the transaction is a test's, around the whole request
    if connection.errors_occurred or not connection.autocommit:
        connection.close_if_unusable_or_obsolete()
