"""What a region has to offer for what is to come there."""

from compute.models import InstanceType
from config.errors import Problems
from regions.models import Region

CAPABILITY = {"gpu": "GPU Computes", "metal": "Bare Metal"}
VLANS = "Vlans"
"""The capability of next-generation-network regions, the only ones with VLANs."""


def capability_of(plan: InstanceType | None) -> str | None:
    """What a region has to offer for instances of the type."""
    return CAPABILITY.get(plan.type_class, "Computes") if plan else None


def check_region(region: Region | None, capability: str | None, problems: Problems) -> bool:
    """Whether something new that needs this capability may come to the region.

    If not, notes on ``region`` that there is no such region, that it takes nothing new, or does not offer this.
    """
    if region is None:
        problems.add("region", "region is not valid")
    elif refusal := region.refusal(capability):
        problems.add("region", refusal)
    else:
        return True
    return False
