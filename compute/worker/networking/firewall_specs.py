"""Packet filters for drivers, as typed data made from the rules of firewalls."""

from collections.abc import Mapping
from typing import Any

from compute.drivers.base import FirewallRule, FirewallRules, FirewallSpec
from compute.services.networking.firewalls.delivery import Wanted
from compute.services.networking.firewalls.mail_ports import MAIL_PORTS
from compute.services.networking.firewalls.rules import port_ranges

DIRECTIONS = ("inbound", "outbound")


def firewall_spec(wanted: Wanted) -> FirewallSpec:
    """Return the packet filter that a host should have."""
    rules = None if wanted.rules is None else _rules(wanted.rules)
    return FirewallSpec(wanted.version, rules, MAIL_PORTS if wanted.mail_ports_closed else ())


def _rules(rules: Mapping[str, Any]) -> FirewallRules:
    inbound, outbound = (tuple(_rule(each) for each in rules.get(name) or ()) for name in DIRECTIONS)
    return FirewallRules(inbound, outbound, rules["inbound_policy"].lower(), rules["outbound_policy"].lower())


def _rule(rule: Mapping[str, Any]) -> FirewallRule:
    ports, addresses = rule.get("ports"), rule["addresses"]
    return FirewallRule(
        action=rule["action"].lower(),
        protocol=rule["protocol"].lower(),
        ports=tuple(port_ranges(ports)) if ports else (),
        ipv4=tuple(addresses.get("ipv4") or ()),
        ipv6=tuple(addresses.get("ipv6") or ()),
        label=rule.get("label") or "",
    )
