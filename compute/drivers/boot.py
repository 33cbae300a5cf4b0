"""The description of a machine's boot, and its packet filter: plain values of `compute.drivers.base`.

The agent of a QEMU host uses this module too. The agent is one file, which contains this module and the package
`compute.drivers.qemu.agent`.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FirewallRule:
    """A rule of a packet filter: the first one that matches a packet decides about it."""

    action: str
    """``accept`` or ``drop``."""
    protocol: str
    """``tcp``, ``udp``, ``icmp`` (of IPv6 too) or ``ipencap``."""
    ports: tuple[tuple[int, int], ...] = ()
    """First and last port of each range, for TCP and UDP. Empty: all ports."""
    ipv4: tuple[str, ...] = ()
    """Networks of the other side, here and in `ipv6`. An address family without networks matches nothing."""
    ipv6: tuple[str, ...] = ()
    label: str = ""
    """A customer's text. Only readers of the host's rules see it."""


@dataclass(frozen=True, slots=True)
class FirewallRules:
    """The rules of a firewall in their order, and what happens to packets that no rule matches."""

    inbound: tuple[FirewallRule, ...] = ()
    outbound: tuple[FirewallRule, ...] = ()
    inbound_policy: str = "accept"
    outbound_policy: str = "accept"


@dataclass(frozen=True, slots=True)
class FirewallSpec:
    """The packet filter of a machine, for its public traffic: data, from which the host renders its own rules.

    The host's side of the machine's public interface is ``sk-<instance id>``, and the host routes there. Of two
    packet filters, the one with the higher `version` is newer.
    """

    version: int
    rules: FirewallRules | None = None
    """None if no firewall is enabled: then only `closed_ports` are filtered."""
    closed_ports: tuple[int, ...] = ()
    """TCP ports to which the machine may open no connection under any rules."""


@dataclass(frozen=True, slots=True)
class BootSpec:
    """The description of a boot: disks and volumes by slot, kernel and addresses. `memory` in MB."""

    kernel: str
    root_device: str
    memory: int
    devices: dict[str, str]
    """Slot (``sda``) to the name of a disk or a volume."""
    run_level: str = "default"
    virt_mode: str = "paravirt"
    volumes: dict[str, str] = field(default_factory=dict)
    """The names in `devices` that are volumes, each with the label by which the guest finds the volume."""
    ipv4: tuple[str, ...] = ()
    ipv6: str | None = None
    """The IPv6 address. Like the addresses in `ipv4`, it has no prefix length."""
    helpers: dict[str, bool] = field(default_factory=dict)
    interfaces: tuple[dict[str, Any], ...] = ()
    """The interfaces in the guest's order, with the fields of the API (``purpose``, ``label``, ``ipam_address``).
    An interface in a VLAN also has the unique ``number`` of the VLAN. Empty: only the public interface."""
    ranges: tuple[str, ...] = ()
    """The IPv6 networks that are routed to `ipv6`."""
    resolvers: tuple[str, ...] = ()
    """The addresses of the region's name servers."""
    network_out: int | None = None
    """The maximum rate for sending on all interfaces together, in Mbit/s. None and 0: no limit."""
    rescue: bool = False
    """Boot the hypervisor's own rescue system, with the disks in `devices`, if any."""
    firewall: FirewallSpec | None = None
    """The packet filter, set as by `set_firewall` before the guest has a network. None: unchanged."""
