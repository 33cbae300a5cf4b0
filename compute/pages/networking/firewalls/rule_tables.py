"""The rules of a firewall in words, for the tables of its page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from compute.models import Firewall
from compute.services.networking.firewalls.rules import WITHOUT_PORTS
from config.display.statuses import BAD, GOOD

ACTIONS = {"ACCEPT": "Accept", "DROP": "Drop"}
PROTOCOLS = {"TCP": "TCP", "UDP": "UDP", "ICMP": "ICMP", "IPENCAP": "IP in IP"}
MAX_NETWORKS = 6
"""Networks of a rule that a table shows. A rule has up to 255."""
ALL = {"0.0.0.0/0": "all IPv4", "::/0": "all IPv6"}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule in words."""

    action: str
    protocol: str
    ports: str
    networks: list[str]
    more: int
    """The number of networks that are left out."""
    label: str
    description: str

    @property
    def tone(self) -> str:
        return tone_of_action(self.action)


@dataclass(frozen=True, slots=True)
class RuleTable:
    """The rules of one direction, and the policy about all other traffic."""

    direction: str
    heading: str
    side: str
    """The head of the column of networks."""
    policy: str
    rows: list[RuleRow]
    address: str
    """The address of the form with these rules."""

    @property
    def tone(self) -> str:
        return tone_of_action(self.policy)


def tone_of_action(action: str) -> str:
    return GOOD if action == ACTIONS["ACCEPT"] else BAD


def tables_of(firewall: Firewall) -> list[RuleTable]:
    """Return the tables of both directions."""
    return [
        RuleTable(
            direction, heading, side, ACTIONS[firewall.rules[f"{direction}_policy"]],
            [row_of(rule) for rule in firewall.rules[direction] or ()],
            reverse(f"firewall-{direction}", args=[firewall.pk]),
        )
        for direction, heading, side in (("inbound", "Inbound rules", "From"), ("outbound", "Outbound rules", "To"))
    ]  # fmt: skip


def row_of(rule: Mapping[str, Any]) -> RuleRow:
    """Return the words for a rule."""
    networks = networks_of(rule)
    ports = rule.get("ports") or ("none" if rule["protocol"] in WITHOUT_PORTS else "all")
    return RuleRow(
        ACTIONS[rule["action"]], PROTOCOLS[rule["protocol"]], ports,
        [ALL.get(each, each) for each in networks[:MAX_NETWORKS]], max(0, len(networks) - MAX_NETWORKS),
        rule.get("label") or "", rule.get("description") or "",
    )  # fmt: skip


def networks_of(rule: Mapping[str, Any]) -> list[str]:
    """Return the networks of a rule, IPv4 first."""
    addresses: Mapping[str, list[str] | None] = rule["addresses"]
    return [network for family in ("ipv4", "ipv6") for network in addresses.get(family) or ()]
