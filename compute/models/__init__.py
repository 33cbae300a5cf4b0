from compute.models.alarms import Alarm
from compute.models.backups import Backup
from compute.models.catalogue import Image, InstanceType, Kernel, SeededRow
from compute.models.consoles import ConsoleSession
from compute.models.domains.domains import Domain
from compute.models.domains.records import DomainRecord
from compute.models.drift import Drift
from compute.models.heartbeats import Heartbeat
from compute.models.hosts import Host, HostMigration, PlatformKey, Reservation
from compute.models.instances import Config, ConfigDevice, Disk, Instance
from compute.models.jobs import Job
from compute.models.networking.addresses import Address, AddressPool, AddressShare
from compute.models.networking.firewalls import Firewall, FirewallDevice, PacketFilter
from compute.models.networking.ranges import IPv6Range, RangeShare
from compute.models.networking.vlans import VLAN
from compute.models.nodebalancers.configs import NodeBalancerConfig
from compute.models.nodebalancers.nodebalancers import NodeBalancer
from compute.models.nodebalancers.nodes import NodeBalancerNode
from compute.models.nodebalancers.stats import NodeBalancerMeter, NodeBalancerSample, NodeBalancerTransfer
from compute.models.stackscripts import StackScript, StackScriptRevision
from compute.models.stats import Alert, Meter, Sample, Transfer
from compute.models.usage import ResourcePrice, UsageInterval, UsageKind, UsageSettings, UsageStatement
from compute.models.volumes import Volume, VolumeDevice

__all__ = [
    "VLAN",
    "Address",
    "AddressPool",
    "AddressShare",
    "Alarm",
    "Alert",
    "Backup",
    "Config",
    "ConfigDevice",
    "ConsoleSession",
    "Disk",
    "Domain",
    "DomainRecord",
    "Drift",
    "Firewall",
    "FirewallDevice",
    "Heartbeat",
    "Host",
    "HostMigration",
    "IPv6Range",
    "Image",
    "Instance",
    "InstanceType",
    "Job",
    "Kernel",
    "Meter",
    "NodeBalancer",
    "NodeBalancerConfig",
    "NodeBalancerMeter",
    "NodeBalancerNode",
    "NodeBalancerSample",
    "NodeBalancerTransfer",
    "PacketFilter",
    "PlatformKey",
    "RangeShare",
    "Reservation",
    "ResourcePrice",
    "Sample",
    "SeededRow",
    "StackScript",
    "StackScriptRevision",
    "Transfer",
    "UsageInterval",
    "UsageKind",
    "UsageSettings",
    "UsageStatement",
    "Volume",
    "VolumeDevice",
]
