"""Checking the rules of a firewall: their number, ports and networks."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from config.errors import Problems

MAX_RULES = 25
"""The most rules of a firewall, inbound and outbound together."""
MAX_ADDRESSES = 255
"""The most networks of one rule, IPv4 and IPv6 together."""
TOO_MANY = f"A rule has at most {MAX_ADDRESSES} addresses, IPv4 and IPv6 together."
MAX_PIECES = 15
"""The most pieces of one rule's ports: a port is one piece, a range two."""
DIRECTIONS = ("inbound", "outbound")
POLICIES = ("inbound_policy", "outbound_policy")
WITHOUT_PORTS = ("ICMP", "IPENCAP")

_PORT = r"[1-9][0-9]{0,4}"
_PORTS = re.compile(rf"{_PORT}(-{_PORT})?(, ?{_PORT}(-{_PORT})?)*", re.ASCII)
_NETWORK = re.compile(r"[0-9A-Fa-f:.]+/(0|[1-9][0-9]{0,2})", re.ASCII)
_VERSIONS = {"ipv4": ipaddress.IPv4Network, "ipv6": ipaddress.IPv6Network}


def checked(
    given: Mapping[str, Any], present: Mapping[str, Any], problems: Problems, within: str = ""
) -> dict[str, Any]:
    """Return the new rules: the lists and policies in `given`, each as a whole, and the `present` ones for the
    others.

    Notes problems under ``inbound[0].ports`` and the like, after the prefix `within`. The returned rules are valid
    only without problems.
    """
    rules = {name: given.get(name, present[name]) for name in (*DIRECTIONS, *POLICIES)}
    number = sum(len(rules[direction] or ()) for direction in DIRECTIONS)
    if number > MAX_RULES:
        field = next((direction for direction in DIRECTIONS if given.get(direction)), DIRECTIONS[0])
        reason = f"A firewall has at most {MAX_RULES} rules, inbound and outbound together."
        problems.add(f"{within}{field}", reason)
        return rules
    for direction in DIRECTIONS:
        if direction in given:
            if given[direction] is None:
                rules[direction] = None  # no rules, shown as the client sent it
                continue
            rules[direction] = [_kept(rule) for rule in given[direction]]
            for index, rule in enumerate(rules[direction]):
                _check(rule, f"{within}{direction}[{index}]", problems)
    return rules


def port_ranges(text: str) -> list[tuple[int, int]]:
    """Return the ports of ``22, 80-90`` as pairs of first and last port. Raises `ValueError` for any other form.

    Commas may be followed by one space. Ports are 1..65535 without leading zeros, and ranges are ascending.
    """
    if not _PORTS.fullmatch(text):
        raise ValueError("ports is not valid")
    ranges = []
    for piece in text.split(","):
        first, _, last = piece.strip().partition("-")
        ranges.append((int(first), int(last or first)))
        if ranges[-1][1] > 65535 or (last and ranges[-1][0] >= ranges[-1][1]):
            raise ValueError("ports is not valid")
    return ranges


def _kept(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as it is stored, without empty fields. Networks and ports stay as the customer wrote them."""
    kept = {name: value for name, value in rule.items() if value not in ("", None)}
    kept["addresses"] = {family: list(found) for family, found in rule["addresses"].items() if found}
    return kept


def _check(rule: Mapping[str, Any], where: str, problems: Problems) -> None:
    ports = rule.get("ports")
    if ports is not None:
        if rule["protocol"] in WITHOUT_PORTS:
            problems.add(f"{where}.ports", f"{rule['protocol']} has no ports.")
        else:
            _check_ports(ports, f"{where}.ports", problems)
    addresses: Mapping[str, Sequence[str]] = rule["addresses"]
    number = sum(map(len, addresses.values()))
    if number > MAX_ADDRESSES:
        problems.add(f"{where}.addresses", TOO_MANY)
    elif not number:
        problems.add(f"{where}.addresses", "A rule needs at least one IPv4 or IPv6 network.")
    else:
        for family, networks in addresses.items():
            for index, network in enumerate(networks):
                if not _is_network(family, network):
                    reason = f"{network[:64]} is not valid: write a network as address/prefix length."
                    problems.add(f"{where}.addresses.{family}[{index}]", reason)


def _check_ports(text: str, field: str, problems: Problems) -> None:
    try:
        ranges = port_ranges(text)
    except ValueError as error:
        problems.add(field, str(error))
        return
    if sum(1 if first == last else 2 for first, last in ranges) > MAX_PIECES:
        problems.add(field, f"ports must be at most {MAX_PIECES} pieces. A range counts as two.")


def _is_network(family: str, text: str) -> bool:
    """Tell whether the text is a network of the family in CIDR notation; bits beyond the prefix are ignored."""
    if not _NETWORK.fullmatch(text):
        return False
    try:
        _VERSIONS[family](text, strict=False)
    except ValueError:
        return False
    return True
