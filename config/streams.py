"""The RSGI entry point of the process kind for what is slow by nature: uploads. Web processes have it too, below
``/uploads/``, for where nothing is run or routed apart."""

from django.conf import settings

from config.server.bodies import Pace
from config.server.streams import Streams
from config.wsgi import application as handler

PREFIX = "/uploads/images/"


def application_for_uploads() -> Streams:
    # Imported once Django is set up, which the import of the handler did.
    from compute.services.images import uploads

    def begin(path: str, length: int) -> uploads.Upload:
        return uploads.begin(path.removeprefix(PREFIX), length)

    return Streams(handler, PREFIX, begin, Pace(settings.UPLOAD_TIMEOUT, settings.UPLOAD_RATE))


application = application_for_uploads()
