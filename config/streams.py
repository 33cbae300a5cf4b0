"""The RSGI entry point of the process kind for slow requests: uploads, and consoles in browsers.

Web processes have it too, below ``/uploads/`` and ``/consoles/``, for installations without stream processes or
without routes to them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.conf import settings
from django.db import close_old_connections

from config.processes.background_services import background_services, watch
from config.server.bodies import Pace
from config.server.consoles import Consoles
from config.server.periodic import BackgroundService
from config.server.streams import Streams
from config.wsgi import application as handler

UPLOADS = "/uploads/images/"
CONSOLES = "/consoles/"


def application_for_consoles() -> Consoles:
    # Imported once Django is set up, which the import of the handler did.
    from config.processes.console_broker import ConsoleBroker

    consoles = Consoles(CONSOLES, ConsoleBroker(), settings.CONSOLE_IDLE, _fresh_connection)
    watch(consoles.threads)
    return consoles


def application_for_streams(background: Sequence[BackgroundService] = ()) -> Streams:
    from compute.services.images import uploads

    def begin(path: str, length: int) -> uploads.Upload:
        return uploads.begin(path.removeprefix(UPLOADS), length)

    pace = Pace(settings.UPLOAD_TIMEOUT, settings.UPLOAD_RATE)
    streams = Streams(handler, UPLOADS, begin, pace, consoles, background)
    watch(streams.threads)
    return streams


@contextmanager
def _fresh_connection() -> Iterator[None]:
    """Use a fresh connection, as around a request: a connection that broke, or is too old, is not used again."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


consoles = application_for_consoles()
application = application_for_streams(background_services("stream"))
