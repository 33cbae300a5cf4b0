"""The quotas of an account that customers and staff see."""

from dataclasses import dataclass

from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import EXTRA_IPV4
from accounts.services.trust import NO_LIMIT
from config.display.quantities import MB_OF_GB, size

QUOTA_GROUPS = (
    (
        "Instances",
        (
            ("instances", "Instances"),
            ("vcpus", "vCPUs"),
            ("memory", "Memory of instances"),
            ("disk", "Disk space of instances"),
            ("gpus", "GPUs"),
        ),
    ),
    (
        "Storage",
        (
            ("volumes", "Volumes"),
            ("volume_storage", "Storage of volumes"),
            ("backup_storage", "Storage of backups"),
            ("image_storage", "Storage of images"),
        ),
    ),
    (
        "Network",
        (
            (EXTRA_IPV4, "Extra public IPv4 addresses"),
            ("total_ipv6_ranges", "IPv6 ranges"),
            ("total_nodebalancers", "Load balancers"),
        ),
    ),
)
"""The labels of quotas on pages, in groups."""
QUOTA_LABELS = {name: label for _, quotas in QUOTA_GROUPS for name, label in quotas}
HELP = {
    EXTRA_IPV4: "Addresses beyond the one that each instance includes.",
    "image_storage": "Images of the account.",
}


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A quota as ``components/quota.html`` shows it. `limit` is None if there is none."""

    name: str
    used: int
    limit: int | None

    @property
    def label(self) -> str:
        return QUOTA_LABELS[self.name]

    @property
    def help(self) -> str:
        return HELP.get(self.name, "")

    @property
    def use(self) -> str:
        """The use and the limit, such as *3 of 10* or *512 MB of 40 GB*."""
        used = amount_of(self.name, self.used)
        return used if self.limit is None else f"{used} of {amount_of(self.name, self.limit)}"

    @property
    def left(self) -> str:
        """The remainder in words."""
        if self.limit is None:
            return NO_LIMIT
        if self.limit == 0 and self.used == 0:
            return "not included"
        left = self.limit - self.used
        if left <= 0:
            return "used up" if left == 0 else f"{amount_of(self.name, -left)} too much"
        return f"{amount_of(self.name, left)} left"

    @property
    def is_full(self) -> bool:
        return self.limit is not None and self.used > 0 and self.used >= self.limit


def amount_of(name: str, amount: int | None) -> str:
    """Format a limit or a use of a quota, which is in the quota's unit. None is *no limit*."""
    if amount is None:
        return NO_LIMIT
    unit = RESOURCE_QUOTAS[name].unit if name in RESOURCE_QUOTAS else ""
    if not unit:
        return f"{amount:,}"
    return size(amount if unit == "MB" else amount * MB_OF_GB)
