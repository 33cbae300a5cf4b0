from compute.models.addresses import Address, AddressPool
from compute.models.backups import Backup
from compute.models.balancers import NodeBalancer, NodeBalancerNode
from compute.models.catalogue import Image, InstanceType, Kernel
from compute.models.firewalls import Firewall, FirewallDevice
from compute.models.hosts import Host, HostMigration, Reservation
from compute.models.instances import Config, ConfigDevice, Disk, Instance
from compute.models.jobs import Job
from compute.models.networks import VLAN, AddressShare, IPv6Range
from compute.models.scripts import StackScript
from compute.models.stats import Alert, Meter, Sample, Transfer
from compute.models.volumes import Volume, VolumeDevice

__all__ = [
    "VLAN",
    "Address",
    "AddressPool",
    "AddressShare",
    "Alert",
    "Backup",
    "Config",
    "ConfigDevice",
    "Disk",
    "Firewall",
    "FirewallDevice",
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
    "NodeBalancerNode",
    "Reservation",
    "Sample",
    "StackScript",
    "Transfer",
    "Volume",
    "VolumeDevice",
]
