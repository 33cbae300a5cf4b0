"""The paths of the pages of volumes."""

from django.urls import path

from compute.pages.volumes import attaching, creating, volume, volume_list

urlpatterns = [
    path("home/volumes", volume_list.VolumesView.as_view(), name="volumes"),
    path("home/volumes/new", creating.NewVolumeView.as_view(), name="volume-new"),
    path("home/volumes/<int:pk>", volume.VolumeView.as_view(), name="volume"),
    path("home/volumes/<int:pk>/attach", attaching.AttachVolumeView.as_view(), name="volume-attach"),
    path("home/volumes/<int:pk>/detach", attaching.DetachVolumeView.as_view(), name="volume-detach"),
    path("home/volumes/<int:pk>/resize", volume.ResizeVolumeView.as_view(), name="volume-resize"),
    path("home/volumes/<int:pk>/clone", creating.CloneVolumeView.as_view(), name="volume-clone"),
    path("home/volumes/<int:pk>/edit", volume.EditVolumeView.as_view(), name="volume-edit"),
    path("home/volumes/<int:pk>/delete", volume.DeleteVolumeView.as_view(), name="volume-delete"),
]
