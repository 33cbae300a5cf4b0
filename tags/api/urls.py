"""The paths of tags."""

from django.urls import path

from config.api.routers import Router
from tags.api.tags import TaggedViewSet, TagViewSet

router = Router()
router.register("tags", TagViewSet)

urlpatterns = [
    *router.urls,
    # No router: the objects of one tag are a list at the tag's own path.
    path("tags/<slug_id:id>", TaggedViewSet.as_view({"get": "list", "delete": "destroy"})),
]
