"""The paths of the compute API, the busiest first."""

from compute.api.backups import BackupListViewSet, BackupViewSet
from compute.api.catalogue import KernelViewSet, TypeViewSet
from compute.api.clones import CloneViewSet
from compute.api.configs import ConfigViewSet
from compute.api.disks import DiskViewSet
from compute.api.domains.domains import DomainViewSet
from compute.api.domains.records import RecordViewSet
from compute.api.images import ImageViewSet
from compute.api.instances import InstanceViewSet
from compute.api.moves import MigrateViewSet
from compute.api.networking.account_addresses import AddressViewSet, IPv6PoolViewSet, IPv6RangeViewSet, MoveViewSet
from compute.api.networking.firewalls import (
    FirewallDeviceViewSet,
    FirewallRulesViewSet,
    FirewallViewSet,
    InstanceFirewallViewSet,
)
from compute.api.networking.instance_addresses import InstanceAddressViewSet, NetworkingViewSet
from compute.api.networking.vlans import VLANViewSet
from compute.api.nodebalancers.configs import NodeBalancerConfigViewSet
from compute.api.nodebalancers.nodebalancers import InstanceNodeBalancerViewSet, NodeBalancerViewSet
from compute.api.nodebalancers.nodes import NodeBalancerNodeViewSet
from compute.api.notices import MaintenanceViewSet, NotificationViewSet
from compute.api.rebuild import RebuildViewSet
from compute.api.rescue import RescueViewSet
from compute.api.resize import ResizeViewSet
from compute.api.stackscripts import StackScriptViewSet
from compute.api.stats import AccountTransferViewSet, StatsViewSet, TransferViewSet
from compute.api.usage import QuotaViewSet, UsageViewSet
from compute.api.volumes import InstanceVolumeViewSet, VolumeViewSet
from config.api.routers import Router

INSTANCES = "compute/instances"
INSTANCE = f"{INSTANCES}/<id:id>"
NESTED = f"{INSTANCES}/<id:compute_id>"
BALANCER = "nodebalancers/<id:nodebalancer_id>"

router = Router()
router.register(INSTANCES, InstanceViewSet)
router.register(INSTANCES, CloneViewSet, "instance-clone")
router.register(INSTANCES, ResizeViewSet, "instance-resize")
router.register(INSTANCES, MigrateViewSet, "instance-migrate")
router.register(INSTANCES, RescueViewSet, "instance-rescue")
router.register(INSTANCES, RebuildViewSet, "instance-rebuild")
router.register(f"{NESTED}/disks", DiskViewSet, "disk")
router.register(f"{NESTED}/configs", ConfigViewSet, "config")
router.register_single(f"{NESTED}/backups", BackupListViewSet, "backups")
router.register(f"{NESTED}/backups", BackupViewSet, "backup")
router.register_single(f"{NESTED}/ips", NetworkingViewSet, "networking")
router.register(f"{NESTED}/ips", InstanceAddressViewSet, "instance-address")
router.register_single(f"{INSTANCE}/stats", StatsViewSet, "instance-stats")
router.register_single(f"{INSTANCE}/transfer", TransferViewSet, "instance-transfer")
router.register(f"{NESTED}/firewalls", InstanceFirewallViewSet, "instance-firewall")
router.register(f"{NESTED}/nodebalancers", InstanceNodeBalancerViewSet, "instance-nodebalancer")
router.register(f"{NESTED}/volumes", InstanceVolumeViewSet, "instance-volume")
router.register("domains", DomainViewSet)
router.register("domains/<id:domain_id>/records", RecordViewSet, "record")
router.register("volumes", VolumeViewSet)
router.register("networking/ips", MoveViewSet, "move")
router.register("networking/ips", AddressViewSet)
router.register("networking/ipv4", MoveViewSet, "move-ipv4")
router.register("networking/ipv6/pools", IPv6PoolViewSet, "ipv6-pool")
router.register("networking/ipv6/ranges", IPv6RangeViewSet, "ipv6-range")
router.register("networking/vlans", VLANViewSet, "vlan")
router.register("networking/firewalls", FirewallViewSet)
router.register_single("networking/firewalls/<id:id>/rules", FirewallRulesViewSet, "firewall-rules")
router.register("networking/firewalls/<id:firewall_id>/devices", FirewallDeviceViewSet, "firewall-device")
router.register("account/notifications", NotificationViewSet, "notification")
router.register_single("account/transfer", AccountTransferViewSet, "transfer")
router.register_single("account/usage", UsageViewSet, "usage")
router.register_single("account/quotas", QuotaViewSet, "quotas")
router.register("account/maintenance", MaintenanceViewSet, "maintenance")
router.register("compute/stackscripts", StackScriptViewSet, "stackscript")
router.register("compute/types", TypeViewSet, "type")
router.register("compute/kernels", KernelViewSet, "kernel")
router.register("images", ImageViewSet)
router.register("nodebalancers", NodeBalancerViewSet)
router.register(f"{BALANCER}/configs", NodeBalancerConfigViewSet, "nodebalancer-config")
router.register(f"{BALANCER}/configs/<id:config_id>/nodes", NodeBalancerNodeViewSet, "nodebalancer-node")

urlpatterns = router.urls
