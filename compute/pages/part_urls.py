"""The paths of the parts of an instance, below ``/home/instances/<id>/``."""

from django.urls import path

from compute.pages import backups, configs, disks, storage
from compute.pages.networking import address_moves, firewall_devices, instance_addresses, networking
from compute.pages.volumes import instance_volumes

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
    path("backups", backups.BackupsView.as_view(), name="instance-backups"),
    path("backups/enable", backups.EnableBackupsView.as_view(), name="instance-backups-enable"),
    path("backups/cancel", backups.CancelBackupsView.as_view(), name="instance-backups-cancel"),
    path("backups/schedule", backups.BackupScheduleView.as_view(), name="instance-backups-schedule"),
    path("backups/snapshot", backups.SnapshotView.as_view(), name="instance-backups-snapshot"),
    path("backups/<int:backup>/restore", backups.RestoreBackupView.as_view(), name="instance-backup-restore"),
    path("network", networking.NetworkView.as_view(), name="instance-network"),
    path("addresses/new", instance_addresses.NewAddressView.as_view(), name="instance-address-new"),
    path("addresses/share", address_moves.ShareAddressesView.as_view(), name="instance-addresses-share"),
    path(
        "addresses/<address:address>/rdns",
        instance_addresses.ReverseNameView.as_view(),
        name="instance-address-rdns",
    ),
    path("addresses/<address:address>/move", address_moves.MoveAddressView.as_view(), name="instance-address-move"),
    path(
        "addresses/<address:address>/delete",
        instance_addresses.DeleteAddressView.as_view(),
        name="instance-address-delete",
    ),
    path("ranges/new", instance_addresses.NewRangeView.as_view(), name="instance-range-new"),
    path("ranges/<int:range>/delete", instance_addresses.DeleteRangeView.as_view(), name="instance-range-delete"),
    path("firewalls/add", firewall_devices.AddFirewallView.as_view(), name="instance-firewall-add"),
    path(
        "firewalls/<int:device>/remove",
        firewall_devices.RemoveFirewallView.as_view(),
        name="instance-firewall-remove",
    ),
]
