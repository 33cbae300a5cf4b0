"""Packet filters for agents of an earlier release, which take a text of nftables in place of data."""

from dataclasses import asdict
from typing import Any

from compute.drivers.base import FirewallSpec
from compute.drivers.qemu.agent.networks.packet_filters import render


def as_text(machine: str, firewall: FirewallSpec) -> dict[str, Any]:
    """A packet filter as ``version`` and ``ruleset``, a text for ``nft -f``."""
    return {"version": firewall.version, "ruleset": render(machine, asdict(firewall))}
