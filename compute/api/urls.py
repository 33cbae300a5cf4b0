"""The paths of the compute API, the busiest first."""

from django.urls import path

from compute.api.catalogue import ImageViewSet, KernelViewSet, TypeViewSet
from compute.api.instances import ConfigViewSet, DiskViewSet, InstanceViewSet, NetworkingViewSet
from compute.api.notices import MaintenanceViewSet, NotificationViewSet

READ = {"get": "retrieve"}
LIST = {"get": "list"}

INSTANCE = "compute/instances/<id:id>"
NESTED = "compute/instances/<id:compute_id>"

urlpatterns = [
    path("compute/instances", InstanceViewSet.as_view({"get": "list", "post": "create"})),
    path(INSTANCE, InstanceViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path(f"{INSTANCE}/boot", InstanceViewSet.as_view({"post": "boot"})),
    path(f"{INSTANCE}/reboot", InstanceViewSet.as_view({"post": "reboot"})),
    path(f"{INSTANCE}/shutdown", InstanceViewSet.as_view({"post": "shutdown"})),
    path(f"{NESTED}/disks", DiskViewSet.as_view(LIST)),
    path(f"{NESTED}/disks/<id:id>", DiskViewSet.as_view(READ)),
    path(f"{NESTED}/configs", ConfigViewSet.as_view(LIST)),
    path(f"{NESTED}/configs/<id:id>", ConfigViewSet.as_view(READ)),
    path(f"{NESTED}/ips", NetworkingViewSet.as_view({"get": "show"})),
    path("account/notifications", NotificationViewSet.as_view(LIST)),
    path("account/maintenance", MaintenanceViewSet.as_view(LIST)),
    path("compute/types", TypeViewSet.as_view(LIST)),
    path("compute/types/<slug_id:id>", TypeViewSet.as_view(READ)),
    path("compute/kernels", KernelViewSet.as_view(LIST)),
    path("compute/kernels/<slug_id:id>", KernelViewSet.as_view(READ)),
    path("images", ImageViewSet.as_view(LIST)),
    path("images/<slug_id:id>", ImageViewSet.as_view(READ)),
]
