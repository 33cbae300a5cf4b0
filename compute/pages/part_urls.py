"""The paths of the parts of an instance, below ``/home/instances/<id>/``."""

from django.urls import path

from compute.pages import configs, disks, instance_volumes, storage

urlpatterns = [
    path("storage", storage.StorageView.as_view(), name="instance-storage"),
    path("disks/new", disks.NewDiskView.as_view(), name="instance-disk-new"),
    path("disks/<int:disk>/edit", disks.EditDiskView.as_view(), name="instance-disk-edit"),
    path("disks/<int:disk>/resize", disks.ResizeDiskView.as_view(), name="instance-disk-resize"),
    path("disks/<int:disk>/clone", disks.CloneDiskView.as_view(), name="instance-disk-clone"),
    path("disks/<int:disk>/password", disks.DiskPasswordView.as_view(), name="instance-disk-password"),
    path("disks/<int:disk>/image", disks.DiskImageView.as_view(), name="instance-disk-image"),
    path("disks/<int:disk>/delete", disks.DeleteDiskView.as_view(), name="instance-disk-delete"),
    path("volumes/attach", instance_volumes.AttachVolumeView.as_view(), name="instance-volume-attach"),
    path("volumes/new", instance_volumes.NewVolumeView.as_view(), name="instance-volume-new"),
    path("volumes/<int:volume>/detach", instance_volumes.DetachVolumeView.as_view(), name="instance-volume-detach"),
    path("configs", configs.ConfigsView.as_view(), name="instance-configs"),
    path("configs/new", configs.NewConfigView.as_view(), name="instance-config-new"),
    path("configs/<int:config>/edit", configs.EditConfigView.as_view(), name="instance-config-edit"),
    path("configs/<int:config>/boot", configs.BootWithConfigView.as_view(), name="instance-config-boot"),
    path("configs/<int:config>/reboot", configs.RebootWithConfigView.as_view(), name="instance-config-reboot"),
    path("configs/<int:config>/delete", configs.DeleteConfigView.as_view(), name="instance-config-delete"),
]
