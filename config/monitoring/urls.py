"""Paths for monitoring."""

from django.urls import path

from config.monitoring.views import livez, metrics, readyz, version

urlpatterns = [
    path("livez", livez, name="livez"),
    path("readyz", readyz, name="readyz"),
    path("version", version, name="version"),
    path("metrics", metrics, name="metrics"),
]
