"""Paths beside those of the resources: unknown ones, the OpenAPI document and its pages, health."""

from django.urls import path, re_path

from config.api import documents
from config.api.views import UnknownPath

METHODS = ("get", "post", "put", "patch", "delete")

unknown = [re_path(r"^", UnknownPath.as_view(dict.fromkeys(METHODS, "missing")))]
"""The last pattern of the API: it matches everything."""

pages = [
    path("openapi.json", documents.openapi, {"suffix": "json"}, name="openapi-json"),
    path("openapi.yaml", documents.openapi, {"suffix": "yaml"}, name="openapi-yaml"),
    path("docs", documents.docs, name="docs"),
    path("healthz", documents.healthz, name="healthz"),
]
