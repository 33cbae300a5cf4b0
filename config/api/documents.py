"""The OpenAPI document, the pages to browse it, and the health check."""

from functools import cache

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

from config.api import reasons
from config.api.responses import JSONResponse, error_response
from config.db import prepared

RENDERERS = {
    "json": (OpenApiJsonRenderer, "application/json"),
    "yaml": (OpenApiYamlRenderer, "application/yaml"),
}


@cache
def document(suffix: str) -> bytes:
    """The OpenAPI document as bytes. It follows from the code alone, so it is made once for each process."""
    renderer, _ = RENDERERS[suffix]
    schema = SchemaGenerator().get_schema(request=None, public=True)
    written = renderer().render(schema, renderer_context={})
    return written if isinstance(written, bytes) else written.encode()


@require_safe
def openapi(request: HttpRequest, suffix: str) -> HttpResponse:
    """``/openapi.json`` and ``/openapi.yaml``. Any origin may read it, as the API itself."""
    response = HttpResponse(document(suffix), content_type=RENDERERS[suffix][1])
    response["Cache-Control"] = "public, max-age=300"
    return response


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The reference, to browse and to try out. All of its parts are served from here."""
    response = render(request, "docs.html")
    # the page's own styles are set by its script; everything comes from here, and calls go only here
    response["Content-Security-Policy"] = (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
    )
    return response


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, for load balancers and `serve`."""
    try:
        prepared.fetch("SELECT 1", ())
    except Error:
        connection.close()
        return error_response([{"field": None, "reason": "The database does not answer"}], 503)
    return JSONResponse({"status": "ok"})


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer paths outside of the API that are unknown: clients may have mistyped the base address."""
    return error_response([{"field": None, "reason": reasons.NOT_FOUND}], 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """A failure outside of the API's views, such as in a middleware; Django has logged it."""
    return error_response([{"field": None, "reason": reasons.UNEXPECTED}], 500)
