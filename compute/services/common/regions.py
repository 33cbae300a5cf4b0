"""What a region asks of an instance that is to come there, and what it gives it."""

from compute.models import AddressPool, InstanceType
from compute.services.networking.addresses import slaac_address
from config.errors import Problems
from regions.models import Region

CAPABILITY = {"gpu": "GPU Computes", "metal": "Bare Metal"}
VLANS = "Vlans"
"""The capability of next-generation-network regions, the only ones with VLANs."""


def capability_of(plan: InstanceType | None) -> str | None:
    """What a region has to offer for instances of the type."""
    return CAPABILITY.get(plan.type_class, "Computes") if plan else None


def check_region(region: Region | None, plan: InstanceType | None, problems: Problems) -> None:
    """Note on ``region`` that there is no such region, or that it takes nothing new, or not of this type."""
    if region is None:
        problems.add("region", "region is not valid")
    elif refusal := region.refusal(capability_of(plan)):
        problems.add("region", refusal)


def slaac_in(region_id: str, instance_id: int) -> str | None:
    """The address, with its prefix length, that the instance gives itself there; None without IPv6."""
    pools = AddressPool.objects.filter(region_id=region_id, kind=AddressPool.Kind.SLAAC)
    network = pools.order_by("pk").values_list("network", flat=True).first()
    return f"{slaac_address(network, instance_id)}/128" if network else None
