"""The platform's own rulesets of nftables on a host: one for the host, and one for each machine.

The packet filters of customers are separate tables (``inet skerry-<id>``). A packet has to pass both.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address, ip_network

from compute.drivers.qemu.agent import commands
from compute.drivers.qemu.agent.checks import collapsed
from compute.drivers.qemu.agent.networks.nics import Nic

SECONDS = 10.0
VXLAN_PORT = 4789
PROBE = "0.0.0.0"  # noqa: S104 - the source of a guest's ARP probe, before it uses an address
COUNTERS = ("v4_in", "v4_out", "v4_private_in", "v4_private_out", "v6_in", "v6_out")
MBIT = 125_000
"""Bytes of one megabit."""
BURST_PART = 10
"""The divisor of the rate for the burst, so that 1/10 of a second's bytes may pass at once. TCP needs this to keep
its rate at round-trip times of up to 100 ms."""
MAX_MBIT = 100_000
"""The maximum rate, in Mbit/s. A higher rate means no limit, because Linux refuses bursts over 2^31 bytes."""
MIN_BURST = 1 << 18
"""The minimum burst, in bytes. A packet larger than the burst would never pass. A guest sends up to 64 KB at once,
for its interface to split into packets."""


def load(ruleset: str) -> None:
    """Load a ruleset as one transaction."""
    commands.run("nft", "-f", "-", given=ruleset, timeout=SECONDS)


def anew(family: str, name: str, body: Iterable[str] = ()) -> str:
    """The ruleset that replaces a table, if it exists, by one with this `body`. Without a `body`, it deletes it."""
    head = f"table {family} {name}\ndelete table {family} {name}\n"
    lines = "".join(f"\t{line}\n" for line in body)
    return f"{head}table {family} {name} {{\n{lines}}}\n" if lines else head


def of_host(private: str, peers: Sequence[str], customers: Sequence[str] = (), trusted: Sequence[str] = ()) -> str:
    """The host's own table ``inet skerry``.

    Guests of this host may ping it, and answer connections that the host itself opened. All their other packets are
    dropped, except neighbour discovery. The same rules apply to guests of other hosts: to packets from the networks
    `customers`, without `trusted` ones and `peers`, on any interface. Only interfaces of the platform carry packets
    of private addresses. VXLAN packets are accepted only from `peers`, whose addresses guests cannot forge. The
    rule on new connections makes the host track connections before a customer's packet filter needs it.
    """
    known = f"ip saddr != {{ {', '.join(peers)} }} " if peers else ""
    return anew(
        "inet",
        "skerry",
        [
            "chain input {",
            "type filter hook input priority filter - 10; policy accept;",
            f"udp dport {VXLAN_PORT} {known}counter drop",
            'iifname "sk-v*" counter drop',
            'iifname "sk-*" jump guests',
            *(f'iifname != "lo" {match} jump guests' for match in _sources(customers, (*trusted, *peers))),
            "}",
            "chain guests {",
            "ct state established,related accept",
            "icmp type echo-request accept",
            "icmpv6 type { echo-request, nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept",
            "counter drop",
            "}",
            "chain forward {",
            "type filter hook forward priority filter - 10; policy accept;",
            'iifname "sk-v*" oifname != "sk-v*" counter drop',
            'oifname "sk-v*" iifname != "sk-v*" counter drop',
            f'iifname != "sk-*" ip saddr {private} counter drop',
            f'iifname != "sk-*" ip daddr {private} counter drop',
            "ct state new counter",
            "}",
        ],
    )


def _sources(customers: Sequence[str], trusted: Sequence[str]) -> Iterator[str]:
    """A match on the source of packets for each address family that customers have networks of."""
    for word, colon in (("ip", False), ("ip6", True)):
        theirs, others = (
            collapsed(each for each in networks if (":" in each) == colon) for networks in (customers, trusted)
        )
        but = f"{word} saddr != {_set(map(str, others))} " if others else ""
        if theirs:
            yield f"{but}{word} saddr {_set(map(str, theirs))}"


def of_machine(
    machine: str,
    nics: Sequence[Nic],
    own4: Sequence[str],
    own6: Sequence[str],
    private: str,
    sends: int | None = None,
    receives: int | None = None,
) -> str:
    """The table ``netdev <machine>``: rules on what a guest may send, rate limits in both directions, and counters.

    The interfaces must exist already. `own4` and `own6` are the machine's addresses and networks, and `private` is
    the region's private network. `sends` and `receives` limit all interfaces together, in Mbit/s; None is no limit.
    """
    lines = [f"counter {name} {{ }}" for name in (*COUNTERS, "spoofed", "over_out", "over_in")]
    sends, receives = _bounded(sends), _bounded(receives)
    lines += [*_rate("out", sends), *_rate("in", receives)]
    out, in_ = _limit("out", sends), _limit("in", receives)
    for nic in nics:
        lines += _public(nic, own4, own6, private, out, in_) if nic.vlan is None else _vlan(nic, out, in_)
    return anew("netdev", machine, lines)


def _bounded(mbit: int | None) -> int:
    """A rate that Linux can limit; 0 means no limit, also for rates that are too high."""
    return mbit if mbit and mbit <= MAX_MBIT else 0


def _rate(way: str, mbit: int) -> list[str]:
    """The limit object, which the rules of all interfaces share.

    Packets over the rate are dropped, not queued. A queue (tc's tbf on an ifb device) would be better for TCP. But
    packets from an ifb skip the hook ``ingress``, with its counters and its rules against forged addresses. The
    measurements are in docs/decisions/machine-limits.md.
    """
    if not mbit:
        return []
    rate = mbit * MBIT
    burst = max(rate // BURST_PART, MIN_BURST)
    return [f"limit rate_{way} {{", f"rate over {rate:d} bytes/second burst {burst:d} bytes", "}"]


def _limit(way: str, mbit: int) -> list[str]:
    """The rate-limit rule. It comes before the counting rules, so that dropped packets do not count as transfer."""
    return [f"limit name rate_{way} counter name over_{way} drop"] if mbit else []


def _public(
    nic: Nic, own4: Sequence[str], own6: Sequence[str], private: str, out: list[str], in_: list[str]
) -> list[str]:
    """The chains of the public interface.

    A guest sends only from its own hardware address and its own IP addresses. It may not act as a DHCP server or a
    router.
    """
    public4, private4 = _parted(own4, private)
    lines = ["chain sent {", f'type filter hook ingress device "{nic.tap}" priority filter; policy drop;']
    lines += [f"ether saddr != {nic.mac} counter name spoofed drop", *out]
    arp = f"arp htype 1 arp ptype ip arp hlen 6 arp plen 4 arp saddr ether {nic.mac}"
    lines.append(f"{arp} arp saddr ip {_set([PROBE, *own4])} accept")
    # no machine may be a DHCP server, or announce itself as a router
    lines += ["udp sport { 67, 547 } counter name spoofed drop"]
    lines += ["icmpv6 type { nd-router-advert, nd-redirect } counter name spoofed drop"]
    if private4:
        lines.append(f"ip saddr {_set(private4)} ip daddr {private} counter name v4_private_out accept")
    if public4:
        lines.append(f"ip saddr {_set(public4)} ip daddr != {private} counter name v4_out accept")
    lines.append("ip6 saddr :: icmpv6 type { nd-neighbor-solicit, mld2-listener-report } accept")
    lines.append("ip6 saddr fe80::/10 ip6 daddr { fe80::/10, ff02::/16 } accept")
    if own6:
        lines.append(f"ip6 saddr {_set(own6)} counter name v6_out accept")
    lines += ["counter name spoofed drop", "}"]
    lines += ["chain received {", f'type filter hook egress device "{nic.tap}" priority filter; policy accept;']
    lines += in_
    lines += [f"ip saddr {private} counter name v4_private_in accept", "meta protocol ip counter name v4_in accept"]
    return [*lines, "meta protocol ip6 counter name v6_in accept", "}"]


def _vlan(nic: Nic, out: list[str], in_: list[str]) -> list[str]:
    """The chains of an interface in a VLAN.

    The owner may use any IP address there, but only the interface's own hardware address. So no machine can take
    over packets for another one.
    """
    return [
        f"chain sent_{nic.name} {{",
        f'type filter hook ingress device "{nic.tap}" priority filter; policy accept;',
        f"ether saddr != {nic.mac} counter drop",
        f"arp saddr ether != {nic.mac} counter drop",
        *out,
        "}",
        f"chain received_{nic.name} {{",
        f'type filter hook egress device "{nic.tap}" priority filter; policy accept;',
        *in_,
        "}",
    ]


def has_host_table() -> bool:
    """Tell whether the host's own table is loaded in the kernel."""
    output = commands.run("nft", "-j", "list", "tables", timeout=SECONDS).stdout
    tables = [each["table"] for each in json.loads(output)["nftables"] if "table" in each]
    return any((each["family"], each["name"]) == ("inet", "skerry") for each in tables)


def counted(machine: str) -> dict[str, int]:
    """The bytes in each traffic counter of a machine, with the field names of the interface's `Usage`."""
    output = commands.run("nft", "-j", "list", "counters", "table", "netdev", machine, timeout=SECONDS).stdout
    found = [each["counter"] for each in json.loads(output)["nftables"] if "counter" in each]
    return {each["name"]: int(each["bytes"]) for each in found if each["name"] in COUNTERS}


def _parted(addresses: Sequence[str], private: str) -> tuple[list[str], list[str]]:
    from_private = [each for each in addresses if is_private(each, private)]
    return [each for each in addresses if each not in from_private], from_private


def is_private(address: str, private: str) -> bool:
    """Tell whether an IPv4 address is in the region's private network."""
    return ip_address(address) in ip_network(private)


def _set(elements: Iterable[str]) -> str:
    return f"{{ {', '.join(elements)} }}"
