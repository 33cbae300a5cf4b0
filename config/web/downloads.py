"""Files of users, which a browser must store and never show: they may be pages with scripts."""

from typing import IO

from django.http import FileResponse

POLICY = "default-src 'none'; sandbox"


def as_download(file: IO[bytes], name: str, media_type: str) -> FileResponse:
    """Return the answer with an open file. Django closes the file."""
    response = FileResponse(file, as_attachment=True, filename=name, content_type=media_type)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = POLICY
    return response
