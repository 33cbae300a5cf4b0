"""Rendering a machine's packet filter as a ruleset of nftables.

Each machine has a table of its own in the family ``inet``: the host routes between the machine's interface and the
rest of the world. Forwarded traffic passes `forward`; traffic between host and machine passes `input` and `output`.
(A bridge would have to track connections, and many kernels lack this.)

The ruleset first deletes the previous table, and is loaded as one transaction. So no packet passes unfiltered, and
loading it twice changes nothing.

Callers pass data, never text of nftables. A ruleset contains the machine's checked name, words of this module,
numbers, and networks that were parsed. Labels become comments, in which harmful characters are replaced.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from compute.drivers.qemu.agent.checks import collapsed
from compute.drivers.qemu.agent.networks.nics import tap
from compute.drivers.qemu.agent.store import checked_machine

ICMP, ICMP6, IPENCAP = "icmp", "ipv6-icmp", "4"
MAX_COMMENT_LENGTH = 64
ESTABLISHED = "ct state established,related counter accept"
ACTIONS = ("accept", "drop")
PROTOCOLS = ("tcp", "udp", "icmp", "ipencap")

_FAMILIES = (("ipv4", "ip", ICMP), ("ipv6", "ip6", ICMP6))
_ASK = "nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert"
_ANSWER = "nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert"
_JOIN = "mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report"


def render(machine: str, firewall: Mapping[str, Any]) -> str:
    """The ruleset of a machine, for ``nft -f``. `firewall` has the fields of the interface's `FirewallSpec`.

    Packets of established connections pass. Between host and machine, neighbour discovery, multicast groups and
    DHCP work under all rules. No rule lets a new connection out to a closed port. If there is nothing to filter,
    the ruleset only deletes the table.
    """
    name, interface = checked_machine(machine), tap(machine)
    rules, closed = firewall["rules"], firewall["closed_ports"]
    body: Iterable[str] = ()
    if rules is not None:
        body = _table(name, interface, rules, closed)
    elif closed:
        body = _closed_table(name, interface, closed)
    return "\n".join([*removal(name), *body]) + "\n"


def removal(machine: str) -> list[str]:
    """Lines that delete a machine's table if there is one."""
    name = checked_machine(machine)
    return [f"table inet {name}", f"delete table inet {name}"]


def _table(machine: str, interface: str, rules: Mapping[str, Any], closed: Sequence[int]) -> Iterator[str]:
    yield f"table inet {machine} {{"
    yield from _chain("inbound", [ESTABLISHED, *_direction(rules, "inbound", "saddr")])
    yield from _chain("outbound", [ESTABLISHED, *_closed(closed), *_direction(rules, "outbound", "daddr")])
    come, go = f'oifname "{interface}"', f'iifname "{interface}"'
    yield from _chain("forward", [*_hook("forward"), f"{go} jump outbound", f"{come} jump inbound"])
    questions = _housekeeping(go, _ASK, client=True)
    yield from _chain("input", [*_hook("input"), *questions, f"{go} jump outbound"])
    answers = _housekeeping(come, _ANSWER, client=False)
    yield from _chain("output", [*_hook("output"), *answers, f"{come} jump inbound"])
    yield "}"


def _closed_table(machine: str, interface: str, closed: Sequence[int]) -> Iterator[str]:
    """The table of a machine with closed ports and no firewall: most packets pass three rules."""
    yield f"table inet {machine} {{"
    yield from _chain("outbound", [ESTABLISHED, *_closed(closed)])
    for name in ("forward", "input"):
        yield from _chain(name, [*_hook(name), f'iifname "{interface}" jump outbound'])
    yield "}"


def _closed(ports: Sequence[int]) -> list[str]:
    """The rule that drops new connections to these ports. It is the first one: the first match decides."""
    return [f"tcp dport {{ {', '.join(str(int(port)) for port in ports)} }} counter drop"] if ports else []


def _chain(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"\tchain {name} {{"
    yield from (f"\t\t{line}" for line in lines)
    yield "\t}"


def _hook(name: str) -> list[str]:
    return [f"type filter hook {name} priority filter; policy accept;"]


def _housekeeping(where: str, discovery: str, *, client: bool) -> Iterator[str]:
    """Rules for the traffic by which a guest gets its addresses: the guest's packets if `client`, or the host's."""
    yield f"{where} ip6 hoplimit 255 icmpv6 type {{ {discovery} }} counter accept"
    yield f"{where} ip6 saddr fe80::/10 icmpv6 type {{ {_JOIN} }} counter accept"
    for own, server in ((68, 67), (546, 547)):
        source, target = (own, server) if client else (server, own)
        yield f"{where} udp sport {source} udp dport {target} counter accept"


def _direction(rules: Mapping[str, Any], direction: str, side: str) -> Iterator[str]:
    """The rules of one direction in their order, followed by its policy."""
    for rule in rules[direction]:
        yield from _rule(rule, side)
    yield f"counter {_verdict(rules[f'{direction}_policy'])}"


def _rule(rule: Mapping[str, Any], side: str) -> Iterator[str]:
    """One line for each address family that the rule has networks of."""
    for family, word, icmp in _FAMILIES:
        if rule[family]:
            verdict = f"counter {_verdict(rule['action'])}{_comment(rule['label'])}"
            yield " ".join([_networks(word, side, rule[family]), _protocol(rule, icmp), verdict])


def _networks(word: str, side: str, networks: Sequence[str]) -> str:
    """The match on the rule's networks. Overlapping networks are merged, since a set takes no element twice."""
    merged = collapsed(networks)
    if merged[0].prefixlen == 0:
        return f"meta nfproto {'ipv4' if word == 'ip' else 'ipv6'}"
    return f"{word} {side} {{ {', '.join(map(str, merged))} }}"


def _protocol(rule: Mapping[str, Any], icmp: str) -> str:
    name = rule["protocol"]
    ranges = merged_ports(rule["ports"])
    if name in ("tcp", "udp") and ranges:
        ports = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
        return f"{name} dport {{ {ports} }}"
    number = {"tcp": "tcp", "udp": "udp", "icmp": icmp, "ipencap": IPENCAP}[name]
    return f"meta l4proto {number}"


def merged_ports(ranges: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Port ranges in order, merged where they overlap or touch."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted((int(first), int(last)) for first, last in ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _verdict(action: str) -> str:
    return {"accept": "accept", "drop": "drop"}[action]


def _comment(label: str) -> str:
    """The rule's label as a comment for readers of the host's rules. Other characters become ``?``."""
    if not label:
        return ""
    return f' comment "{re.sub(r"[^A-Za-z0-9 _.:/-]", "?", label)[:MAX_COMMENT_LENGTH]}"'
