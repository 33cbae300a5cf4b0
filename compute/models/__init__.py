from compute.models.addresses import Address, AddressPool
from compute.models.catalogue import Image, InstanceType, Kernel
from compute.models.hosts import Host
from compute.models.instances import Config, ConfigDevice, Disk, Instance
from compute.models.jobs import Job

__all__ = [
    "Address",
    "AddressPool",
    "Config",
    "ConfigDevice",
    "Disk",
    "Host",
    "Image",
    "Instance",
    "InstanceType",
    "Job",
    "Kernel",
]
