"""Firewall rules as nftables reads them: from rules to text, and nothing else.

A table for each machine, in the family ``inet``: the host routes between the machine's own interface and the rest
of the world, so that forwarded traffic passes `forward`, and what host and machine say to each other `input` and
`output`. (On a bridge the connections would have to be followed there, which many kernels are built without.) The
text begins by taking away the table as it was, and is loaded as one transaction: no packet ever passes unfiltered,
and loading it twice changes nothing.

Nothing that customers write gets into it but numbers and networks that were parsed and written anew, and rules'
labels as comments, of which only harmless characters are left.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from compute.services.firewalls.rules import port_ranges

ICMP, ICMP6, IPENCAP = "icmp", "ipv6-icmp", "4"
LONGEST_COMMENT = 64

_FAMILIES = (("ipv4", "ip", ICMP), ("ipv6", "ip6", ICMP6))
_ASK = "nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert"
_ANSWER = "nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert"
_JOIN = "mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report"


def interface_name(instance_id: int) -> str:
    """The host's side of an instance's public interface: what drivers call it and rules match. At most 15 bytes."""
    return f"sk-{instance_id}"


def render(machine: str, interface: str, rules: Mapping[str, Any] | None) -> str:
    """The ruleset of a machine, for ``nft -f``. `rules` are those of its enabled firewall; None takes it all away.

    Connections that stand go on, and what answers them or is about them comes through; neighbour discovery, the
    learning of routers and multicast groups, and DHCP work whatever the rules say, between host and machine alone.
    """
    head = [f"table inet {machine}", f"delete table inet {machine}"]
    return "\n".join(head if rules is None else [*head, *_table(machine, interface, rules)]) + "\n"


def _table(machine: str, interface: str, rules: Mapping[str, Any]) -> Iterator[str]:
    yield f"table inet {machine} {{"
    yield from _chain("inbound", _direction(rules, "inbound", "saddr"))
    yield from _chain("outbound", _direction(rules, "outbound", "daddr"))
    come, go = f'oifname "{interface}"', f'iifname "{interface}"'
    yield from _chain("forward", [*_hook("forward"), f"{go} jump outbound", f"{come} jump inbound"])
    questions = _housekeeping(go, _ASK, client=True)
    yield from _chain("input", [*_hook("input"), *questions, f"{go} jump outbound"])
    answers = _housekeeping(come, _ANSWER, client=False)
    yield from _chain("output", [*_hook("output"), *answers, f"{come} jump inbound"])
    yield "}"


def _chain(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"\tchain {name} {{"
    yield from (f"\t\t{line}" for line in lines)
    yield "\t}"


def _hook(name: str) -> list[str]:
    return [f"type filter hook {name} priority filter; policy accept;"]


def _housekeeping(where: str, discovery: str, *, client: bool) -> Iterator[str]:
    """What a guest needs to have an address at all, as one side says it; `client` is the guest's."""
    yield f"{where} ip6 hoplimit 255 icmpv6 type {{ {discovery} }} counter accept"
    yield f"{where} ip6 saddr fe80::/10 icmpv6 type {{ {_JOIN} }} counter accept"
    for own, server in ((68, 67), (546, 547)):
        source, target = (own, server) if client else (server, own)
        yield f"{where} udp sport {source} udp dport {target} counter accept"


def _direction(rules: Mapping[str, Any], direction: str, side: str) -> Iterator[str]:
    """The rules of one direction in their order, and last its policy."""
    yield "ct state established,related counter accept"
    for rule in rules.get(direction) or ():
        yield from _rule(rule, side)
    yield f"counter {_verdict(rules[f'{direction}_policy'])}"


def _rule(rule: Mapping[str, Any], side: str) -> Iterator[str]:
    """A line for each family that the rule has networks of; none where it has none."""
    for family, word, icmp in _FAMILIES:
        networks = rule["addresses"].get(family)
        if networks:
            protocol = _protocol(rule, icmp)
            verdict = f"counter {_verdict(rule['action'])}{_comment(rule.get('label'))}"
            yield " ".join([_networks(word, side, networks), protocol, verdict])


def _networks(word: str, side: str, networks: Sequence[str]) -> str:
    """Whom it is about: overlapping networks as one, since a set takes none twice."""
    parsed = [ipaddress.ip_network(network, strict=False) for network in networks]
    merged = list(ipaddress.collapse_addresses(parsed))  # type: ignore[type-var] # all of one family
    if merged[0].prefixlen == 0:
        return f"meta nfproto {'ipv4' if word == 'ip' else 'ipv6'}"
    return f"{word} {side} {{ {', '.join(map(str, merged))} }}"


def _protocol(rule: Mapping[str, Any], icmp: str) -> str:
    name = rule["protocol"]
    if name == "ICMP":
        return f"meta l4proto {icmp}"
    if name == "IPENCAP":
        return f"meta l4proto {IPENCAP}"
    word = {"TCP": "tcp", "UDP": "udp"}[name]
    ranges = merged_ports(rule.get("ports") or "")
    if not ranges:
        return f"meta l4proto {word}"
    ports = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{word} dport {{ {ports} }}"


def merged_ports(text: str) -> list[tuple[int, int]]:
    """The ranges of a rule's ports in order, those that overlap or touch as one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(port_ranges(text)) if text else ():
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _verdict(action: str) -> str:
    return {"ACCEPT": "accept", "DROP": "drop"}[action]


def _comment(label: str | None) -> str:
    """The rule's label for whoever reads the host's rules: what else than these characters is in it, is a ``?``."""
    if not label:
        return ""
    return f' comment "{re.sub(r"[^A-Za-z0-9 _.:/-]", "?", label)[:LONGEST_COMMENT]}"'
