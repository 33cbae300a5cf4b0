"""The paths of the reference."""

from django.urls import path

from config.reference import views

urlpatterns = [
    path("docs", views.introduction, name="docs"),
    path("docs/found", views.found, name="docs-found"),
    path("docs/operations/<str:name>", views.operation, name="docs-operation"),
]
