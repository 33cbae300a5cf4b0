"""The paths of tags."""

from django.urls import path

from tags.api.tags import TaggedViewSet, TagViewSet

urlpatterns = [
    path("tags", TagViewSet.as_view({"get": "list", "post": "create"})),
    path("tags/<slug_id:id>", TaggedViewSet.as_view({"get": "list", "delete": "destroy"})),
]
