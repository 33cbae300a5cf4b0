"""The OpenAPI document and the health check."""

from functools import cache

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

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
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, for load balancers and `serve`."""
    try:
        prepared.fetch("SELECT 1", ())
    except Error:
        connection.close()
        return error_response([{"field": None, "reason": "The database does not answer"}], 503)
    return JSONResponse({"status": "ok"})
