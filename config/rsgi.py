"""The RSGI entry point: the API and the admin of `config.wsgi`, with bodies read before they take a turn."""

from django.conf import settings

from config.server.application import Application
from config.wsgi import application as handler

FORM = 64 * 1024
"""Bytes of a form beside the file in it, at most."""
LARGEST = max(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.ATTACHMENT_LIMIT + FORM)


def largest(path: str) -> int:
    """Bytes that a body may have to be read at all. What each view takes of it is the view's affair."""
    return settings.UPLOAD_LIMIT if path.startswith("/uploads/images/") else LARGEST


application = Application(handler, largest)
