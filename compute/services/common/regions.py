"""The capabilities that a region needs for new instances and other new resources."""

from collections.abc import Iterable

from compute.models import InstanceType
from config.errors import Problems
from regions.models import Region

CAPABILITY = {"gpu": "GPU Computes", "metal": "Bare Metal"}
NO_SUCH_TYPE = "A valid plan type by that ID was not found"
"""The reason on ``type``, which clients know."""
VLANS = "Vlans"
"""The capability of next-generation-network regions, the only ones with VLANs."""


def capability_of(plan: InstanceType | None) -> str | None:
    """The capability that a region needs for instances of the type; None without a type."""
    return CAPABILITY.get(plan.type_class, "Computes") if plan else None


def check_region(region: Region | None, capability: str | None, problems: Problems) -> bool:
    """Tell whether the region accepts a new resource that needs this capability.

    If not, note on ``region`` that the region does not exist, accepts nothing new, or lacks the capability.
    """
    if region is None:
        problems.add("region", "region is not valid")
    elif refusal := region.refusal(capability):
        problems.add("region", refusal)
    else:
        return True
    return False


def refusals_of_regions(regions: Iterable[Region], capability: str | None) -> dict[str, str]:
    """The reasons why regions accept no new resource that needs this capability, by their ids."""
    found = {region.pk: region.refusal(capability) for region in regions}
    return {pk: refusal for pk, refusal in found.items() if refusal}
