"""The network interfaces of a machine: the guest's interfaces, and the host's ends of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compute.drivers.qemu.agent.errors import Refused

MAX_VLAN_NUMBER = (1 << 24) - 1 - 4096
"""VXLAN has 24 bits for the number of a network, of which the platform keeps the first 4096 for itself."""


@dataclass(frozen=True, slots=True)
class Nic:
    """An interface: `name` in the guest, `tap` on the host. `vlan` is the number of its VLAN; None is public."""

    name: str
    tap: str
    mac: str
    vlan: int | None = None
    address: str = ""
    """The address in the VLAN that the owner chose, with a prefix length. Empty: no address."""


def nics(machine: str, mac: str, interfaces: Sequence[Mapping[str, Any]]) -> list[Nic]:
    """The interfaces of a machine in the guest's order. By default, this is only the public one, with this `mac`.

    Raises `Refused` for a VLAN without a number.
    """
    return [
        _nic(machine, mac, position, each) for position, each in enumerate(interfaces or [{"purpose": "public"}])
    ]


def tap(machine: str) -> str:
    """The name of the host's end of a machine's public interface, as used in rules of packet filters."""
    return f"sk-{machine.rpartition('-')[2]}"


def _nic(machine: str, mac: str, position: int, given: Mapping[str, Any]) -> Nic:
    name = f"eth{position}"
    if given["purpose"] == "public":
        return Nic(name, tap(machine), mac)
    number = given.get("number")
    if not isinstance(number, int) or not 0 < number <= MAX_VLAN_NUMBER:
        raise Refused("A VLAN of the machine has no number.")
    # the second byte tells interfaces of one machine apart; the rest of the address is the machine's own
    first, second, rest = re.fullmatch(r"(..):(..):(.*)", mac).groups()  # type: ignore[union-attr] # `define` looked
    other = f"{first}:{(int(second, 16) + 1 + position) & 0xFF:02x}:{rest}"
    return Nic(name, f"{tap(machine)}-{position}", other, number, str(given.get("ipam_address") or ""))
