"""The network of an instance: its addresses, those that it shares, VLANs and firewalls."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from compute.models import Address, Firewall, FirewallDevice, IPv6Range
from compute.pages.configs import deleting
from compute.pages.parts import PartTab
from compute.serializers.networking.addresses import reverse_name, route_target
from compute.services.networking.assign import MOVING
from compute.services.networking.interfaces import VLAN
from compute.services.networking.overview import networking
from config.errors import Busy
from config.pages.lists import Row, Verb

TAB = "instance-network"
LAST_PUBLIC_ADDRESS = "This is the last public address of the instance."


@dataclass(frozen=True, slots=True)
class AddressRow:
    """An address or a range, the note about it, its reverse name, and the verbs that the user may take."""

    text: str
    note: str
    rdns: str = ""
    verbs: tuple[Verb, ...] = ()

    @property
    def copy_id(self) -> str:
        return f"address-{self.text.translate(str.maketrans(':./', '---'))}"


@dataclass(frozen=True, slots=True)
class VLANRow:
    """An interface of a profile on a VLAN."""

    label: str
    address: str
    interface: str
    config_id: int
    config: str


class NetworkView(PartTab):
    """``/home/instances/<id>/network``."""

    template_name = "compute/instance_part.html"
    part_template = "compute/network.html"
    tab = TAB

    def shown(self, refusals: Mapping[str, str]) -> dict[str, Any]:
        found = networking(self.instance)
        moving = moving_reason(self.instance.status)
        ipv4 = [
            *(self._ipv4(row, "public", moving, last=len(found.public) == 1) for row in found.public),
            *(self._ipv4(row, "private", moving) for row in found.private),
            *(AddressRow(row.address, f"reserved in {row.region_id}", name_of(row)) for row in found.reserved),
            *(AddressRow(row.address, "shared: belongs to another instance", name_of(row)) for row in found.shared),
        ]
        ipv6 = [
            *([AddressRow(found.slaac.address, "SLAAC")] if found.slaac else []),
            AddressRow(found.link_local.address, "link-local"),
            *(self._range(row, moving) for row in found.ranges),
        ]
        return {
            "part_title": "Network",
            "ipv4": ipv4,
            "ipv6": ipv6,
            "moving": moving,
            "vlans": list(self._vlans()),
            "firewalls": self._firewalls(),
            "deleting": deleting(self.instance),
        }

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        yield from (shown["ipv4"], shown["ipv6"], shown["vlans"])
        for row in shown["firewalls"]:
            yield row.object.pk, row.object.firewall.label, row.object.firewall.status

    def _verb(self, label: str, page: str, *args: Any, reason: str = "") -> Verb:
        return Verb(label, reverse(f"instance-{page}", args=[self.instance.pk, *args]), reason)

    def _ipv4(self, row: Address, kind: str, moving: str, *, last: bool = False) -> AddressRow:
        verbs = [
            self._verb("Move or swap", "address-move", row.address, reason=moving),
            self._verb(
                "Delete", "address-delete", row.address, reason=moving or (LAST_PUBLIC_ADDRESS if last else "")
            ),
        ]
        if row.public:
            verbs.insert(0, self._verb("Edit reverse name", "address-rdns", row.address, reason=moving))
        return AddressRow(row.address, kind, name_of(row), tuple(verbs) if self.may_change else ())

    def _range(self, row: IPv6Range, moving: str) -> AddressRow:
        slaac = row.instance.ipv6 if row.instance else None
        shared = row.is_shared  # type: ignore[attr-defined] # the overview annotates it
        target = route_target(row.route_target, slaac, shared)
        note = "shared" if shared else f"routed to {target}" if target else "not routed"
        own = row.kind == IPv6Range.Kind.RANGE and row.instance_id == self.instance.pk and self.may_change
        verbs = (self._verb("Delete", "range-delete", row.pk, reason=moving),) if own else ()
        return AddressRow(str(row), note, "", verbs)

    def _vlans(self) -> Iterable[VLANRow]:
        for config in self.instance.configs.order_by("pk"):
            for position, each in enumerate(config.interfaces):
                if each["purpose"] == VLAN:
                    eth = f"eth{position}"
                    yield VLANRow(each["label"], each["ipam_address"], eth, config.pk, config.label)

    def _firewalls(self) -> list[Row]:
        """The firewalls on the instance that the user may see. The user can remove those that the user may
        change."""
        seen = Firewall.objects.visible_to(self.actor).values("pk")
        rows = FirewallDevice.objects.filter(instance=self.instance, firewall__in=seen).order_by("pk")
        devices = list(rows.select_related("firewall"))
        keys = [device.firewall_id for device in devices]
        writable = Firewall.objects.writable_keys(self.actor, keys) if self.may_change else ()

        def verbs(device: FirewallDevice) -> tuple[Verb, ...]:
            verb = self._verb("Detach", "firewall-remove", device.pk)
            return (verb,) if device.firewall_id in writable else ()

        return [Row(device, verbs(device)) for device in devices]


def name_of(row: Address) -> str:
    """Return the reverse name of an address. Empty without one."""
    return reverse_name(row.address, row.public, row.rdns) or ""


def moving_reason(status: str) -> str:
    """Why addresses cannot change while an instance has this status; empty if they can."""
    return str(Busy()) if status in MOVING else ""
