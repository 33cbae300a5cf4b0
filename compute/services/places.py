"""What a region asks of an instance that is to come there, and what it gives it."""

from collections.abc import Iterable

from compute.models import VLAN, AddressPool, Config, InstanceType
from compute.services.addresses import slaac_address
from config.errors import Problems
from regions.models import Region

CAPABILITY = {"gpu": "GPU Computes", "metal": "Bare Metal"}
VLANS = "Vlans"
"""The capability of next-generation-network regions, the only ones with VLANs."""
MOST_VLANS = 10
"""Of an account in one region."""


def check_region(region: Region | None, plan: InstanceType | None, problems: Problems) -> None:
    """Note on ``region`` that there is no such region, or that it does not offer what the type needs."""
    if region is None:
        problems.add("region", "region is not valid")
    elif plan is not None:
        needs = CAPABILITY.get(plan.type_class, "Computes")
        if needs not in region.capabilities:
            problems.add("region", f"This region does not offer {needs}.")


def vlans_of(configs: Iterable[Config]) -> set[str]:
    """The labels of the VLANs that these profiles have interfaces on."""
    interfaces = (interface for config in configs for interface in config.interfaces)
    return {interface["label"] for interface in interfaces if interface.get("purpose") == "vlan"}


def check_vlans(account_id: int, region: Region, configs: Iterable[Config], field: str, problems: Problems) -> None:
    """Note on `field` that the profiles' VLANs cannot be in the region: it has none, or the account no more."""
    wanted = vlans_of(configs)
    if not wanted:
        return
    if VLANS not in region.capabilities:
        advice = "Choose another region or contact support."
        problems.add(field, f"The compute is attached to a VLAN, and this region has none. {advice}")
    elif len(wanted | _labels(account_id, region.pk)) > MOST_VLANS:
        problems.add(field, f"An account has at most {MOST_VLANS} VLANs in a region.")


def bring_vlans(account_id: int, region_id: str, configs: Iterable[Config]) -> None:
    """Let the profiles' VLANs come into being where the account has none of these labels yet."""
    new = sorted(vlans_of(configs) - _labels(account_id, region_id))
    rows = [VLAN(account_id=account_id, region_id=region_id, label=label) for label in new]
    VLAN.objects.bulk_create(rows, ignore_conflicts=True)


def _labels(account_id: int, region_id: str) -> set[str]:
    return set(VLAN.objects.filter(account=account_id, region=region_id).values_list("label", flat=True))


def slaac_in(region_id: str, instance_id: int) -> str | None:
    """The address, with its prefix length, that the instance gives itself there; None without IPv6."""
    pools = AddressPool.objects.filter(region_id=region_id, kind=AddressPool.Kind.SLAAC)
    network = pools.order_by("pk").values_list("network", flat=True).first()
    return f"{slaac_address(network, instance_id)}/128" if network else None
