"""Paths in addition to those of the resources: /v4 itself, unknown paths, the OpenAPI document, health."""

from django.urls import path, re_path

from config.api.documents import healthz, openapi
from config.api.views import About, UnknownPath

METHODS = ("get", "post", "put", "patch", "delete")

about = About.as_view({"get": "about"})

unknown = [re_path(r"^", UnknownPath.as_view(dict.fromkeys(METHODS, "missing")))]
"""The last pattern of the API: it matches everything."""

documents = [
    path("openapi.json", openapi, {"suffix": "json"}, name="openapi-json"),
    path("openapi.yaml", openapi, {"suffix": "yaml"}, name="openapi-yaml"),
    path("healthz", healthz, name="healthz"),
]
