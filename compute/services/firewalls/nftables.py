"""Rendering firewall rules as a ruleset of nftables.

Each machine has a table of its own in the family ``inet``: the host routes between the machine's interface and the
rest of the world, so that forwarded traffic passes `forward`, and traffic between host and machine `input` and
`output`. (On a bridge, connections would have to be tracked there, which many kernels are built without.) The
ruleset begins by deleting the previous table, and is loaded as one transaction: no packet ever passes unfiltered,
and loading it twice changes nothing.

Of customers' text it contains only numbers and networks that were parsed and written anew, and rules' labels as
comments, reduced to harmless characters.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from compute.services.firewalls.rules import port_ranges

ICMP, ICMP6, IPENCAP = "icmp", "ipv6-icmp", "4"
LONGEST_COMMENT = 64
MAIL_PORTS = (25, 465, 587)
GOES_ON = "ct state established,related counter accept"

_FAMILIES = (("ipv4", "ip", ICMP), ("ipv6", "ip6", ICMP6))
_ASK = "nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert"
_ANSWER = "nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert"
_JOIN = "mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report"


def interface_name(instance_id: int) -> str:
    """The host's end of an instance's public interface, as drivers name it and rules match it. At most 15 bytes."""
    return f"sk-{instance_id}"


def render(
    machine: str, interface: str, rules: Mapping[str, Any] | None, *, mail_ports_closed: bool = False
) -> str:
    """The ruleset of a machine, for ``nft -f``. `rules` are those of its enabled firewall, None without one.

    Established connections go on, and answers and errors that belong to them come through. Neighbour discovery,
    joining multicast groups and DHCP work whatever the rules say, between host and machine alone. With
    `mail_ports_closed` no rule lets a new connection out to a mail port. Where there is nothing to filter, the
    ruleset deletes the table.
    """
    head = [f"table inet {machine}", f"delete table inet {machine}"]
    body: Iterable[str] = ()
    if rules is not None:
        body = _table(machine, interface, rules, mail_ports_closed)
    elif mail_ports_closed:
        body = _mail_table(machine, interface)
    return "\n".join([*head, *body]) + "\n"


def _table(machine: str, interface: str, rules: Mapping[str, Any], mail_ports_closed: bool) -> Iterator[str]:
    yield f"table inet {machine} {{"
    yield from _chain("inbound", [GOES_ON, *_direction(rules, "inbound", "saddr")])
    mail = _mail() if mail_ports_closed else ()
    yield from _chain("outbound", [GOES_ON, *mail, *_direction(rules, "outbound", "daddr")])
    come, go = f'oifname "{interface}"', f'iifname "{interface}"'
    yield from _chain("forward", [*_hook("forward"), f"{go} jump outbound", f"{come} jump inbound"])
    questions = _housekeeping(go, _ASK, client=True)
    yield from _chain("input", [*_hook("input"), *questions, f"{go} jump outbound"])
    answers = _housekeeping(come, _ANSWER, client=False)
    yield from _chain("output", [*_hook("output"), *answers, f"{come} jump inbound"])
    yield "}"


def _mail_table(machine: str, interface: str) -> Iterator[str]:
    """The table of a machine without a firewall whose mail ports are closed: most packets pass three rules."""
    yield f"table inet {machine} {{"
    yield from _chain("outbound", [GOES_ON, *_mail()])
    for name in ("forward", "input"):
        yield from _chain(name, [*_hook(name), f'iifname "{interface}" jump outbound'])
    yield "}"


def _mail() -> list[str]:
    """Drop new connections to mail ports, IPv4 and IPv6; before all rules, since the first that fits decides."""
    return [f"tcp dport {{ {', '.join(map(str, MAIL_PORTS))} }} counter drop"]


def _chain(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"\tchain {name} {{"
    yield from (f"\t\t{line}" for line in lines)
    yield "\t}"


def _hook(name: str) -> list[str]:
    return [f"type filter hook {name} priority filter; policy accept;"]


def _housekeeping(where: str, discovery: str, *, client: bool) -> Iterator[str]:
    """The traffic that a guest needs to get an address at all, one side's; with `client` the guest's."""
    yield f"{where} ip6 hoplimit 255 icmpv6 type {{ {discovery} }} counter accept"
    yield f"{where} ip6 saddr fe80::/10 icmpv6 type {{ {_JOIN} }} counter accept"
    for own, server in ((68, 67), (546, 547)):
        source, target = (own, server) if client else (server, own)
        yield f"{where} udp sport {source} udp dport {target} counter accept"


def _direction(rules: Mapping[str, Any], direction: str, side: str) -> Iterator[str]:
    """The rules of one direction in their order, followed by its policy."""
    for rule in rules.get(direction) or ():
        yield from _rule(rule, side)
    yield f"counter {_verdict(rules[f'{direction}_policy'])}"


def _rule(rule: Mapping[str, Any], side: str) -> Iterator[str]:
    """One line for each address family that the rule has networks of."""
    for family, word, icmp in _FAMILIES:
        networks = rule["addresses"].get(family)
        if networks:
            protocol = _protocol(rule, icmp)
            verdict = f"counter {_verdict(rule['action'])}{_comment(rule.get('label'))}"
            yield " ".join([_networks(word, side, networks), protocol, verdict])


def _networks(word: str, side: str, networks: Sequence[str]) -> str:
    """The match on the rule's networks. Overlapping networks are merged, since a set takes no element twice."""
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
    """The port ranges of a rule in order, merged where they overlap or touch."""
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
    """The rule's label as a comment, for readers of the host's rules; other characters become a ``?``."""
    if not label:
        return ""
    return f' comment "{re.sub(r"[^A-Za-z0-9 _.:/-]", "?", label)[:LONGEST_COMMENT]}"'
