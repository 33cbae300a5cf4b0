"""The OpenAPI document and the health check."""

from functools import cache
from hashlib import sha256
from typing import NamedTuple

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import condition, require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

from config.api.responses import JSONResponse, error_response
from config.db import prepared
from config.web.compression import accepts_gzip, compress_once

RENDERERS = {
    "json": (OpenApiJsonRenderer, "application/json"),
    "yaml": (OpenApiYamlRenderer, "application/yaml"),
}


@cache
def document(suffix: str) -> bytes:
    """Return the OpenAPI document as bytes. It depends only on the code, so each process makes it once."""
    renderer, _ = RENDERERS[suffix]
    schema = SchemaGenerator().get_schema(request=None, public=True)
    written = renderer().render(schema, renderer_context={})
    return written if isinstance(written, bytes) else written.encode()


class Representation(NamedTuple):
    """The document as it is sent, with a strong entity tag."""

    content: bytes
    tag: str


@cache
def representation(suffix: str, gzipped: bool) -> Representation:
    """The OpenAPI document, compressed or not. Each is made once for each process."""
    content = compress_once(document(suffix)) if gzipped else document(suffix)
    return Representation(content, f'"{sha256(content).hexdigest()[:32]}"')


def _tag(request: HttpRequest, suffix: str) -> str:
    return representation(suffix, _accepts_gzip(request)).tag


def _accepts_gzip(request: HttpRequest) -> bool:
    return accepts_gzip(request.headers.get("Accept-Encoding", ""))


@require_safe
@condition(_tag)
def openapi(request: HttpRequest, suffix: str) -> HttpResponse:
    """``/openapi.json`` and ``/openapi.yaml``. Any origin may read it, as the API itself."""
    gzipped = _accepts_gzip(request)
    response = HttpResponse(representation(suffix, gzipped).content, content_type=RENDERERS[suffix][1])
    if gzipped:
        response["Content-Encoding"] = "gzip"
    response["Cache-Control"] = "public, max-age=300"
    response["Vary"] = "Accept-Encoding"
    return response


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while the database answers, for load balancers and `serve`."""
    try:
        prepared.fetch("SELECT 1", ())
    except Error:
        connection.close()
        return error_response([{"field": None, "reason": "The database does not answer"}], 503)
    return JSONResponse({"status": "ok"})
