"""Packet filters read from JSON, the form in which hosts store them."""

from collections.abc import Mapping
from typing import Any

from compute.drivers.base import FirewallRule, FirewallRules, FirewallSpec


def firewall_spec(found: Mapping[str, Any]) -> FirewallSpec:
    """Return the packet filter with these fields."""
    rules = found["rules"]
    return FirewallSpec(found["version"], None if rules is None else _rules(rules), tuple(found["closed_ports"]))


def _rules(found: Mapping[str, Any]) -> FirewallRules:
    lists = {name: tuple(_rule(each) for each in found[name]) for name in ("inbound", "outbound")}
    return FirewallRules(**{**found, **lists})


def _rule(found: Mapping[str, Any]) -> FirewallRule:
    ports = tuple((first, last) for first, last in found["ports"])
    return FirewallRule(**{**found, "ports": ports, "ipv4": tuple(found["ipv4"]), "ipv6": tuple(found["ipv6"])})
