"""The RSGI entry point: the API and the admin of `config.wsgi`. Bodies are read before requests are answered."""

from django.conf import settings
from django.urls import get_resolver

from config.processes.background_services import background_services, watch
from config.server.application import Application
from config.server.lanes import SIZES, Lane, Routes
from config.streams import UPLOADS, application_for_streams, consoles
from config.wsgi import application as handler

MAX_FORM_BYTES = 64 * 1024
"""The maximum bytes of a form in addition to its file."""
MAX_BODY_BYTES = max(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.ATTACHMENT_LIMIT + MAX_FORM_BYTES)
"""The maximum bytes of a body that is read. Each view checks its own limit."""

lanes = {name: Lane(name, size) for name, size in SIZES.items()}
for lane in lanes.values():
    watch(lane.threads)

application = Application(
    handler,
    MAX_BODY_BYTES,
    Routes(get_resolver()),
    lanes,
    {UPLOADS: application_for_streams()},
    consoles,
    background_services("web"),
)
