from django.urls import path

from regions.api.views import RegionViewSet

urlpatterns = [
    path("regions", RegionViewSet.as_view({"get": "list"})),
    path("regions/<slug_id:id>", RegionViewSet.as_view({"get": "retrieve"})),
]
