"""The paths of regions."""

from config.api.routers import Router
from regions.api.views import RegionViewSet

router = Router()
router.register("regions", RegionViewSet, "region")

urlpatterns = router.urls
