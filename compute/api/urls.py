"""The paths of the compute API, the busiest first."""

from django.urls import path

from compute.api.account_addresses import AddressViewSet, IPv6PoolViewSet, IPv6RangeViewSet, MoveViewSet
from compute.api.backups import BackupListViewSet, BackupViewSet
from compute.api.catalogue import KernelViewSet, TypeViewSet
from compute.api.clones import CloneViewSet
from compute.api.configs import ConfigViewSet
from compute.api.disks import DiskViewSet
from compute.api.domains import DomainViewSet, RecordViewSet
from compute.api.firewalls import (
    FirewallDeviceViewSet,
    FirewallRulesViewSet,
    FirewallViewSet,
    InstanceFirewallViewSet,
)
from compute.api.images import ImageViewSet
from compute.api.instance_addresses import InstanceAddressViewSet, NetworkingViewSet
from compute.api.instances import InstanceViewSet
from compute.api.moves import MigrateViewSet
from compute.api.nodebalancer_configs import NodeBalancerConfigViewSet
from compute.api.nodebalancer_nodes import NodeBalancerNodeViewSet
from compute.api.nodebalancers import InstanceNodeBalancerViewSet, NodeBalancerViewSet
from compute.api.notices import MaintenanceViewSet, NotificationViewSet
from compute.api.rebuild import RebuildViewSet
from compute.api.rescue import RescueViewSet
from compute.api.resize import ResizeViewSet
from compute.api.stackscripts import StackScriptViewSet
from compute.api.stats import AccountTransferViewSet, StatsViewSet, TransferViewSet
from compute.api.vlans import VLANViewSet
from compute.api.volumes import InstanceVolumeViewSet, VolumeViewSet

READ = {"get": "retrieve"}
LIST = {"get": "list"}

INSTANCE = "compute/instances/<id:id>"
NESTED = "compute/instances/<id:compute_id>"
BALANCER = "nodebalancers/<id:nodebalancer_id>"

urlpatterns = [
    path("domains", DomainViewSet.as_view({"get": "list", "post": "create"})),
    path("domains/import", DomainViewSet.as_view({"post": "import_zone"})),
    path("domains/<id:id>", DomainViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path("domains/<id:id>/clone", DomainViewSet.as_view({"post": "clone"})),
    path("domains/<id:id>/zone-file", DomainViewSet.as_view({"get": "zone_file"})),
    path("domains/<id:domain_id>/records", RecordViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "domains/<id:domain_id>/records/<id:id>",
        RecordViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("compute/instances", InstanceViewSet.as_view({"get": "list", "post": "create"})),
    path(INSTANCE, InstanceViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path(f"{INSTANCE}/boot", InstanceViewSet.as_view({"post": "boot"})),
    path(f"{INSTANCE}/reboot", InstanceViewSet.as_view({"post": "reboot"})),
    path(f"{INSTANCE}/shutdown", InstanceViewSet.as_view({"post": "shutdown"})),
    path(f"{INSTANCE}/clone", CloneViewSet.as_view({"post": "clone"})),
    path(f"{INSTANCE}/resize", ResizeViewSet.as_view({"post": "resize"})),
    path(f"{INSTANCE}/mutate", ResizeViewSet.as_view({"post": "mutate"})),
    path(f"{INSTANCE}/migrate", MigrateViewSet.as_view({"post": "migrate"})),
    path(f"{INSTANCE}/rescue", RescueViewSet.as_view({"post": "rescue"})),
    path(f"{INSTANCE}/rebuild", RebuildViewSet.as_view({"post": "rebuild"})),
    path(f"{INSTANCE}/password", RebuildViewSet.as_view({"post": "password"})),
    path(f"{NESTED}/disks", DiskViewSet.as_view({"get": "list", "post": "create"})),
    path(f"{NESTED}/disks/<id:id>", DiskViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path(f"{NESTED}/disks/<id:id>/clone", DiskViewSet.as_view({"post": "clone"})),
    path(f"{NESTED}/disks/<id:id>/password", DiskViewSet.as_view({"post": "password"})),
    path(f"{NESTED}/disks/<id:id>/resize", DiskViewSet.as_view({"post": "resize"})),
    path(f"{NESTED}/configs", ConfigViewSet.as_view({"get": "list", "post": "create"})),
    path(
        f"{NESTED}/configs/<id:id>",
        ConfigViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path(f"{NESTED}/backups", BackupListViewSet.as_view({"get": "show", "post": "snapshot"})),
    path(f"{NESTED}/backups/enable", BackupListViewSet.as_view({"post": "enable"})),
    path(f"{NESTED}/backups/cancel", BackupListViewSet.as_view({"post": "cancel"})),
    path(f"{NESTED}/backups/<id:id>", BackupViewSet.as_view(READ)),
    path(f"{NESTED}/backups/<id:id>/restore", BackupViewSet.as_view({"post": "restore"})),
    path(f"{NESTED}/ips", NetworkingViewSet.as_view({"get": "show", "post": "add"})),
    path(
        f"{NESTED}/ips/<address:id>",
        InstanceAddressViewSet.as_view({"get": "retrieve", "put": "rename", "delete": "destroy"}),
    ),
    path(f"{INSTANCE}/stats", StatsViewSet.as_view({"get": "day"})),
    path(f"{INSTANCE}/stats/<int:year>/<int:month>", StatsViewSet.as_view({"get": "month"})),
    path(f"{INSTANCE}/transfer", TransferViewSet.as_view({"get": "current"})),
    path(f"{INSTANCE}/transfer/<int:year>/<int:month>", TransferViewSet.as_view({"get": "month"})),
    path(f"{NESTED}/firewalls", InstanceFirewallViewSet.as_view(LIST)),
    path(f"{NESTED}/nodebalancers", InstanceNodeBalancerViewSet.as_view(LIST)),
    path(f"{NESTED}/volumes", InstanceVolumeViewSet.as_view(LIST)),
    path("volumes", VolumeViewSet.as_view({"get": "list", "post": "create"})),
    path("volumes/<id:id>", VolumeViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path("volumes/<id:id>/attach", VolumeViewSet.as_view({"post": "attach"})),
    path("volumes/<id:id>/clone", VolumeViewSet.as_view({"post": "clone"})),
    path("volumes/<id:id>/detach", VolumeViewSet.as_view({"post": "detach"})),
    path("volumes/<id:id>/resize", VolumeViewSet.as_view({"post": "resize"})),
    path("networking/ips", AddressViewSet.as_view({"get": "list", "post": "add"})),
    path("networking/ips/assign", MoveViewSet.as_view({"post": "assign"})),
    path("networking/ips/share", MoveViewSet.as_view({"post": "share"})),
    path("networking/ips/<address:id>", AddressViewSet.as_view({"get": "retrieve", "put": "rename"})),
    path("networking/ipv4/assign", MoveViewSet.as_view({"post": "assign"})),
    path("networking/ipv4/share", MoveViewSet.as_view({"post": "share"})),
    path("networking/ipv6/pools", IPv6PoolViewSet.as_view(LIST)),
    path("networking/ipv6/ranges", IPv6RangeViewSet.as_view({"get": "list", "post": "allocate"})),
    path("networking/ipv6/ranges/<range:id>", IPv6RangeViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("networking/vlans", VLANViewSet.as_view(LIST)),
    path("networking/firewalls", FirewallViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "networking/firewalls/<id:id>",
        FirewallViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("networking/firewalls/<id:id>/rules", FirewallRulesViewSet.as_view({"get": "show", "put": "replace"})),
    path(
        "networking/firewalls/<id:firewall_id>/devices",
        FirewallDeviceViewSet.as_view({"get": "list", "post": "create"}),
    ),
    path(
        "networking/firewalls/<id:firewall_id>/devices/<id:id>",
        FirewallDeviceViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
    path("account/notifications", NotificationViewSet.as_view(LIST)),
    path("account/transfer", AccountTransferViewSet.as_view({"get": "current"})),
    path("account/maintenance", MaintenanceViewSet.as_view(LIST)),
    path("compute/stackscripts", StackScriptViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "compute/stackscripts/<id:id>",
        StackScriptViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("compute/types", TypeViewSet.as_view(LIST)),
    path("compute/types/<slug_id:id>", TypeViewSet.as_view(READ)),
    path("compute/kernels", KernelViewSet.as_view(LIST)),
    path("compute/kernels/<slug_id:id>", KernelViewSet.as_view(READ)),
    path("images", ImageViewSet.as_view({"get": "list", "post": "create"})),
    path("images/upload", ImageViewSet.as_view({"post": "upload"})),
    path("images/<slug_id:id>", ImageViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})),
    path("nodebalancers", NodeBalancerViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "nodebalancers/<id:id>",
        NodeBalancerViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("nodebalancers/<id:id>/stats", NodeBalancerViewSet.as_view({"get": "stats"})),
    path(f"{BALANCER}/configs", NodeBalancerConfigViewSet.as_view({"get": "list", "post": "create"})),
    path(
        f"{BALANCER}/configs/<id:id>",
        NodeBalancerConfigViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path(f"{BALANCER}/configs/<id:id>/rebuild", NodeBalancerConfigViewSet.as_view({"post": "rebuild"})),
    path(
        f"{BALANCER}/configs/<id:config_id>/nodes",
        NodeBalancerNodeViewSet.as_view({"get": "list", "post": "create"}),
    ),
    path(
        f"{BALANCER}/configs/<id:config_id>/nodes/<id:id>",
        NodeBalancerNodeViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
]
