"""Networks between the hosts of a region: VXLAN, flooded to a list of hosts, without multicast.

The private network is one interface, ``sk-private``, on which each host answers for the private addresses of its
own machines. A VLAN is a bridge ``sk-v<number>``. Its ports are the machines' interfaces and ``sk-x<number>``, the
tunnel to the same VLAN on the other hosts. The bridge exists while a machine of this host is in the VLAN.
"""

from collections.abc import Sequence

from compute.drivers.qemu.agent import commands
from compute.drivers.qemu.agent.networks import links
from compute.drivers.qemu.agent.networks.links import SECONDS, ip
from compute.drivers.qemu.agent.networks.packet_tables import VXLAN_PORT

PRIVATE = "sk-private"
PRIVATE_NUMBER = 1
FIRST_VLAN = 4096
OVERHEAD = 50
"""The bytes that VXLAN adds to each packet."""
FLOOD = "00:00:00:00:00:00"


def private(underlay: str, peers: Sequence[str], network: str) -> None:
    """Make the private network between hosts. Without an `underlay`, the private network ends at this host."""
    # packets to unused private addresses must not leave by the host's default route
    ip("route", "replace", "unreachable", network, "metric", "4294967295")
    if not underlay:
        links.delete(PRIVATE)
        return
    _tunnel(PRIVATE, PRIVATE_NUMBER, underlay, peers)
    links.switch(f"ipv6/conf/{PRIVATE}/disable_ipv6", 1)
    for name, wanted in (("forwarding", 1), ("rp_filter", 0), ("send_redirects", 0), ("accept_redirects", 0)):
        links.switch(f"ipv4/conf/{PRIVATE}/{name}", wanted)
    links.switch(f"ipv4/neigh/{PRIVATE}/proxy_delay", 0)
    ip("link", "set", PRIVATE, "up")
    ip("route", "replace", network, "dev", PRIVATE, "metric", "4096")


def vlan(number: int, underlay: str, peers: Sequence[str]) -> str:
    """Make a VLAN on this host, and return the name of its bridge."""
    bridge, tunnel = _bridge(number), f"sk-x{number}"
    if not links.exists(bridge):
        ip("link", "add", bridge, "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
    links.silence(bridge)
    ip("link", "set", bridge, "up")
    if underlay:
        _tunnel(tunnel, FIRST_VLAN + number, underlay, peers)
        links.silence(tunnel)
        ip("link", "set", tunnel, "master", bridge, "up")
    else:
        links.delete(tunnel)
    return bridge


def leave(number: int) -> None:
    """Delete a VLAN from this host if no machine of the host is in it."""
    bridge, tunnel = _bridge(number), f"sk-x{number}"
    if not links.exists(bridge) or not links.ports(bridge) - {tunnel}:
        links.delete(tunnel)
        links.delete(bridge)


def set_peers(peers: Sequence[str]) -> None:
    """Set the other hosts of all networks between hosts."""
    for each in links.asked("link", "show", "type", "vxlan"):
        if each["ifname"] == PRIVATE or each["ifname"].startswith("sk-x"):
            _flood(each["ifname"], peers)


def _bridge(number: int) -> str:
    return f"sk-v{number}"


def _tunnel(name: str, number: int, underlay: str, peers: Sequence[str]) -> None:
    if links.exists(name) and not _is_of(name, underlay):
        links.delete(name)
    if not links.exists(name):
        ip("link", "add", name, "type", "vxlan", "id", str(number), "local", underlay, "dstport", str(VXLAN_PORT))
    _flood(name, peers)


def _is_of(name: str, underlay: str) -> bool:
    found = links.asked("-d", "link", "show", name)
    return bool(found) and found[0].get("linkinfo", {}).get("info_data", {}).get("local") == underlay


def _flood(tunnel: str, peers: Sequence[str]) -> None:
    """Set the list of hosts for flooding. Entries of other hosts are deleted, including learnt ones."""
    output = commands.run("bridge", "fdb", "show", "dev", tunnel, timeout=SECONDS).stdout
    entries = [line.split() for line in output.splitlines() if " dst " in line]
    known = {words[words.index("dst") + 1] for words in entries if words[0] == FLOOD}
    for words in entries:
        host = words[words.index("dst") + 1]
        if host not in peers:
            gone = ("bridge", "fdb", "del", words[0], "dev", tunnel, "dst", host)
            commands.run(*gone, expected=(0, 2, 255), timeout=SECONDS)  # a learnt entry may have expired meanwhile
    for peer in set(peers) - known:
        commands.run("bridge", "fdb", "append", FLOOD, "dev", tunnel, "dst", peer, timeout=SECONDS)
