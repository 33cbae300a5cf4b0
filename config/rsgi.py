"""The RSGI entry point: the API and the admin of `config.wsgi`, with bodies read before they take a turn."""

from django.conf import settings
from django.urls import get_resolver

from config.presence import presence, watch
from config.server.application import Application
from config.server.lanes import SIZES, Lane, Routes
from config.streams import UPLOADS, application_for_streams, consoles
from config.wsgi import application as handler

FORM = 64 * 1024
"""Bytes of a form beside the file in it, at most."""
MAX_BODY_BYTES = max(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.ATTACHMENT_LIMIT + FORM)
"""Bytes that a body may have to be read at all. What each view takes of it is the view's affair."""

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
    presence("web"),
)
