"""The account's quotas: the limit and the use of each resource that costs money."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.views.generic import TemplateView

from accounts.pages.base import AccountPage
from accounts.quotas import RESOURCE_QUOTAS
from accounts.services.quotas import EXTRA_IPV4, Resources, resources_of
from config.display.quantities import MB_OF_GB, size
from config.pages.grants import ACCOUNT_READ, ACCOUNT_WRITE, granted

GROUPS = (
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
"""The labels of quotas on the page, in groups."""
HELP = {
    EXTRA_IPV4: "Addresses beyond the one that each instance includes.",
    "image_storage": "Images of your account.",
}
REQUEST = {
    "summary": "Higher quotas",
    "description": "Quotas and numbers: \nReason: ",
}
"""The beginning of the ticket by which a customer asks for more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A quota as the page shows it. `limit` is None if there is none; `used` and `limit` are in the same unit."""

    name: str
    label: str
    used: int
    limit: int | None
    unit: str
    help: str = ""

    @property
    def use(self) -> str:
        """The use and the limit, such as *3 of 10* or *512 MB of 40 GB*."""
        used = self._text(self.used)
        return used if self.limit is None else f"{used} of {self._text(self.limit)}"

    @property
    def left(self) -> str:
        """The remainder in words."""
        if self.limit is None:
            return "no limit"
        if self.limit == 0 and self.used == 0:
            return "not included"
        left = self.limit - self.used
        if left <= 0:
            return "used up" if left == 0 else f"{self._text(-left)} too much"
        return f"{self._text(left)} left"

    @property
    def is_full(self) -> bool:
        return self.limit is not None and self.used > 0 and self.used >= self.limit

    def _text(self, amount: int) -> str:
        if not self.unit:
            return f"{amount:,}"
        return size(amount if self.unit == "MB" else amount * MB_OF_GB) if amount else "0 GB"


class QuotasView(AccountPage, TemplateView):
    """``/home/quotas``."""

    template_name = "accounts/quotas.html"
    grant = ACCOUNT_READ

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            groups=list(groups_of(resources_of(self.actor.account_id))),
            may_ask=granted(self.actor, ACCOUNT_WRITE),
            ticket=f"{reverse('ticket-new')}?{urlencode(REQUEST)}",
            **kwargs,
        )


def groups_of(resources: Resources) -> Iterator[tuple[str, list[Row]]]:
    """Yield the names of the groups with their rows."""
    for group, quotas in GROUPS:
        yield group, [row_of(resources, name, label) for name, label in quotas]


def row_of(resources: Resources, name: str, label: str) -> Row:
    """Return the row of one quota. Pages show it with ``components/quota.html``."""
    unit = RESOURCE_QUOTAS[name].unit if name in RESOURCE_QUOTAS else ""
    return Row(name, label, resources.used[name], resources.limits[name], unit, HELP.get(name, ""))
