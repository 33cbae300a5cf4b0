"""The networks of machines on a host that routes: interfaces, routes, what a guest may send, and counters.

Each start of a machine makes them, so nothing else is needed after a restart of the host. They are deleted when the
machine is off. Without ``networking`` this module does nothing. docs/host-networks.md has the full description.
"""

import hashlib
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from compute.drivers.boot import BootSpec
from compute.drivers.qemu.agent import checks, locks, records, settings
from compute.drivers.qemu.agent.commands import CommandFailed
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.machines import command_line
from compute.drivers.qemu.agent.machines.command_line import Machine
from compute.drivers.qemu.agent.machines.machine_dirs import all_machines
from compute.drivers.qemu.agent.networks import links, overlay, packet_tables
from compute.drivers.qemu.agent.networks.links import ip
from compute.drivers.qemu.agent.networks.nics import Nic, nics
from compute.drivers.qemu.agent.networks.packet_tables import is_private, load
from compute.drivers.qemu.agent.settings import Settings
from compute.drivers.qemu.agent.store import Store

MADE = "networks.json"
LOADED = "host-table.json"
"""The file with the networks of customers, the callers in them, and the digest of the host's loaded table."""
MAX_CALLERS = 16
LOCK_FILE = "networks.lock"
GATEWAY = "fe80::1"
"""The host's address for guests in IPv6. In IPv4 the host answers for the address of the gateway."""


def make(store: Store, machine: Machine, boot: BootSpec) -> None:
    """Make the interfaces of a machine that is off, and route its addresses to them."""
    if not settings.load(store).networking:
        return
    with locks.lock_file(store.root / LOCK_FILE):
        host = settings.load(store)
        _unmake(store, machine.name)
        _ready(store, host)
        found = nics(machine.name, machine.mac, boot.interfaces)
        uplink = host.uplink or links.uplink()
        record: dict[str, Any] = {
            "taps": [each.tap for each in found],
            "vlans": [each.vlan for each in found if each.vlan is not None],
            "proxies": _proxies(boot, host, uplink) if any(each.vlan is None for each in found) else [],
        }
        # before anything is made, so that after a crash everything can be removed
        records.write(store.machine(machine.name) / MADE, record)
        for nic in found:
            _tap(nic)
        # while the interfaces are down, so that no packet passes before the rules are loaded
        load(_rules(machine.name, found, boot, host))
        for nic in found:
            if nic.vlan is None:
                _public(nic, boot)
            else:
                _vlan(nic, nic.vlan, host)
        for interface, address in record["proxies"]:
            if interface == overlay.PRIVATE and not host.underlay:
                continue  # the host has no address between hosts yet
            ip("neigh", "replace", "proxy", address, "dev", interface)
            if ":" not in address:
                links.announce(interface, [address])


def remove(store: Store, machine: str) -> None:
    """Remove the interfaces of a machine that is off, with their routes, rules and VLANs."""
    if settings.load(store).networking:
        with locks.lock_file(store.root / LOCK_FILE):
            _unmake(store, machine)


def remove_here(directory: Path) -> None:
    """Remove the interfaces of the machine in this directory, for its supervisor when QEMU has ended."""
    whole = directory.absolute()
    remove(Store(whole.parents[1]), whole.name)


def begin(store: Store, private_network: str) -> None:
    """Turn on `networking`: the host routes to machines from their next boots on. Raises `Refused` or `Failed`."""
    if os.geteuid() != 0:
        raise Refused("Interfaces for machines need root on their host.")
    try:
        network = str(ipaddress.IPv4Network(private_network))
    except ValueError as error:
        raise Refused(f"{private_network} is not an IPv4 network.") from error
    host = replace(settings.load(store), networking=True, private_network=network)
    with locks.lock_file(store.root / LOCK_FILE):
        _ready(store, host)
    settings.save(store, host)


def set_peers(store: Store, underlay: str, peers: Sequence[str], customers: Sequence[str] | None = None) -> None:
    """Set the host's own address between hosts, the addresses of the other hosts, and the networks of customers.

    If `underlay` is empty, the private network and the VLANs end at this host. Workers of an earlier release do not
    send `customers`: the known networks stay. Packets from the calling ssh client are never dropped.
    """
    try:
        known = [str(ipaddress.IPv4Address(each)) for each in peers if each != underlay]
        own = str(ipaddress.IPv4Address(underlay)) if underlay else ""
    except ValueError as error:
        raise Refused("The address of a host is not an IPv4 address.") from error
    found = settings.load(store)
    is_same = (found.underlay, sorted(found.peers)) == (own, sorted(known))
    if not found.networking:
        if not is_same:
            settings.change(store, underlay=own, peers=tuple(sorted(known)))
        return
    sources = _sources(store)
    if customers is not None:
        sources = replace(sources, customers=sorted(customers))
    sources = sources.with_caller(os.environ.get("SSH_CONNECTION", "").partition(" ")[0])
    if is_same and _is_loaded(store, found, sources):
        return
    # A machine that starts now is either made before this and joins below, or made after it with the new settings
    with locks.lock_file(store.root / LOCK_FILE):
        host = replace(settings.load(store), underlay=own, peers=tuple(sorted(known)))
        _ready(store, host, sources)
        overlay.set_peers(host.peers)
        if own != found.underlay:
            _join(store, host)
        settings.save(store, host)  # last, so that an interrupted call is repeated


def _join(store: Store, host: Settings) -> None:
    """Connect running machines to the networks between hosts, after the host's address there was set or changed."""
    for machine in all_machines(store):
        record = records.read(store.machine(machine) / MADE) or {"proxies": [], "vlans": []}
        for number in record["vlans"]:
            overlay.vlan(number, host.underlay, host.peers)
        for interface, address in record["proxies"]:
            if interface == overlay.PRIVATE and host.underlay:
                ip("neigh", "replace", "proxy", address, "dev", interface)


def in_guest(machine: Machine, boot: BootSpec, host: Settings) -> list[dict[str, Any]] | None:
    """The networks of a guest, as `systems.Network` reads them; None if the owner configures the network."""
    if not host.networking:
        return command_line.networks(machine, boot)
    if not boot.ipv4 or not boot.helpers.get("network", True):
        return None
    found = []
    for nic in nics(machine.name, machine.mac, boot.interfaces):
        written: dict[str, Any] = {"name": nic.name, "mac": nic.mac, "router_advertisements": False}
        if nic.vlan is None:
            written["resolvers"] = list(boot.resolvers)
            addresses, gateways = _addresses(boot, host)
        else:
            addresses, gateways = [nic.address] if nic.address else [], []
        found.append({**written, "addresses": addresses, "gateways": gateways})
    return found


def counted(machine: str) -> dict[str, int]:
    """The bytes in each counter of a machine's public interface since its boot."""
    try:
        return packet_tables.counted(machine)
    except CommandFailed:
        return {}  # the machine is powering off


def _addresses(boot: BootSpec, host: Settings) -> tuple[list[str], list[str]]:
    length = ipaddress.ip_network(host.private_network).prefixlen
    private = [each for each in boot.ipv4 if is_private(each, host.private_network)]
    public = [command_line.addresses(each) for each in boot.ipv4 if each not in private]
    addresses = [str(own) for own, _ in public] + [f"{each}/{length}" for each in private]
    gateways = [str(gateway.ip) for _, gateway in public[:1]]
    if boot.ipv6 is not None:
        addresses.append(f"{boot.ipv6}/128")
        gateways.append(GATEWAY)
    return addresses, gateways


@dataclass(frozen=True, slots=True)
class Sources:
    """The networks of customers, and the addresses in them from which the platform called this host by ssh.

    Packets from a caller are not dropped. Otherwise the platform could not reach its own host.
    """

    customers: list[str] = field(default_factory=list)
    callers: list[str] = field(default_factory=list)

    def with_caller(self, address: str) -> "Sources":
        """Add the address of a caller, and forget callers that are in no network of customers."""
        networks = [ipaddress.ip_network(each) for each in self.customers]
        found = dict.fromkeys([*self.callers, *_plain(address)])
        callers = [each for each in found if any(ipaddress.ip_address(each) in network for network in networks)]
        return replace(self, callers=callers[-MAX_CALLERS:])


def _plain(address: str) -> list[str]:
    """Return a list with the address, or an empty list if it is not valid or has a scope."""
    try:
        return [checks.address(address)]
    except ValueError:
        return []


def _sources(store: Store) -> Sources:
    known = records.read(store.root / LOADED) or {}
    return Sources(list(known.get("customers", ())), list(known.get("callers", ())))


def _trusted(host: Settings) -> list[str]:
    """The networks that the host's administrator trusts. Raises `Failed` for an invalid network."""
    try:
        return [checks.network(each) for each in host.trusted]
    except ValueError as error:
        raise Failed("The settings of this host contain an invalid trusted network.") from error


def _host_table(host: Settings, sources: Sources) -> tuple[str, str]:
    """Render the host's own table, and return it with its digest."""
    allowed = [*_trusted(host), *sources.callers]
    ruleset = packet_tables.of_host(host.private_network, tuple(host.peers), sources.customers, allowed)
    return ruleset, hashlib.sha256(ruleset.encode()).hexdigest()


def _is_loaded(store: Store, host: Settings, sources: Sources) -> bool:
    """Tell whether the host's own table, as this agent renders it, is loaded. After a reboot it is not."""
    loaded = (records.read(store.root / LOADED) or {}).get("digest")
    return loaded == _host_table(host, sources)[1] and packet_tables.has_host_table()


def _ready(store: Store, host: Settings, sources: Sources | None = None) -> None:
    """Set up the host for its first machine: its own packet filter, forwarding, and the private network."""
    sources = sources or _sources(store)
    ruleset, digest = _host_table(host, sources)
    load(ruleset)
    records.write(store.root / LOADED, {**asdict(sources), "digest": digest})
    overlay.private(host.underlay, tuple(host.peers), host.private_network)
    uplink = host.uplink or links.uplink()
    if uplink is not None:
        links.switch(f"ipv4/conf/{uplink}/forwarding", 1)
        # with forwarding, the host would ignore the router advertisements that gave it its default route
        if (links.NET / "ipv6").exists() and links.value(f"ipv6/conf/{uplink}/accept_ra") == 1:
            links.switch(f"ipv6/conf/{uplink}/accept_ra", 2)
        links.switch(f"ipv6/conf/{uplink}/proxy_ndp", 1)
        links.switch(f"ipv4/neigh/{uplink}/proxy_delay", 0)
        links.switch(f"ipv6/neigh/{uplink}/proxy_delay", 0)
    links.switch("ipv6/conf/all/forwarding", 1)


def _tap(nic: Nic) -> None:
    ip("tuntap", "add", "dev", nic.tap, "mode", "tap", "user", str(os.geteuid()))
    links.switch(f"ipv6/conf/{nic.tap}/accept_ra", 0)


def _rules(machine: str, found: Sequence[Nic], boot: BootSpec, host: Settings) -> str:
    own6 = [*([boot.ipv6] if boot.ipv6 else []), *boot.ranges]
    rates = boot.network_out, host.network_in
    return packet_tables.of_machine(machine, found, boot.ipv4, own6, host.private_network, *rates)


def _public(nic: Nic, boot: BootSpec) -> None:
    # the host answers ARP requests for the gateway, and for all other addresses that it has a route to
    for name, wanted in (
        ("forwarding", 1), ("proxy_arp", 1), ("rp_filter", 0), ("send_redirects", 0), ("accept_redirects", 0),
    ):  # fmt: skip
        links.switch(f"ipv4/conf/{nic.tap}/{name}", wanted)
    links.switch(f"ipv4/neigh/{nic.tap}/proxy_delay", 0)
    links.switch(f"ipv6/conf/{nic.tap}/addr_gen_mode", 1)
    ip("link", "set", nic.tap, "up")
    for address in boot.ipv4:
        _route(nic, address, "32")
    if boot.ipv6 is not None:
        ip("-6", "addr", "replace", f"{GATEWAY}/64", "dev", nic.tap, "nodad")
        _route(nic, boot.ipv6, "128")
        for network in boot.ranges:
            ip("-6", "route", "replace", network, "via", boot.ipv6, "dev", nic.tap)


def _route(nic: Nic, address: str, length: str) -> None:
    ip("route", "replace", f"{address}/{length}", "dev", nic.tap)
    # permanent neighbour: no guest is asked for the address, so none can give a wrong answer
    ip("neigh", "replace", address, "lladdr", nic.mac, "dev", nic.tap, "nud", "permanent")


def _vlan(nic: Nic, number: int, host: Settings) -> None:
    bridge = overlay.vlan(number, host.underlay, tuple(host.peers))
    links.silence(nic.tap)
    mtu = links.asked("link", "show", bridge)[0]["mtu"]
    ip("link", "set", nic.tap, "mtu", str(mtu), "master", bridge, "up")


def _proxies(boot: BootSpec, host: Settings, uplink: str | None) -> list[tuple[str, str]]:
    """Pairs of an interface of the host and an address of the machine that the host answers for there."""
    found = []
    for address in boot.ipv4:
        if is_private(address, host.private_network):
            found.append((overlay.PRIVATE, address))
        elif uplink is not None:
            found.append((uplink, address))
    if boot.ipv6 is not None and uplink is not None:
        found.append((uplink, boot.ipv6))
    return found


def _unmake(store: Store, machine: str) -> None:
    path = store.machine(machine) / MADE
    record = records.read(path)
    if record is None:
        return
    here = {(each["dev"], each["dst"]) for each in _proxied()}
    for interface, address in record["proxies"]:
        if (interface, address) in here:
            ip("neigh", "del", "proxy", address, "dev", interface)
    for name in record["taps"]:
        links.delete(name)
        load(packet_tables.anew("netdev", name))  # tables of interfaces in VLANs, from the previous release
    load(packet_tables.anew("netdev", machine))
    for number in record["vlans"]:
        overlay.leave(number)
    path.unlink()


def _proxied() -> list[dict[str, Any]]:
    return links.asked("neigh", "show", "proxy") + links.asked("-6", "neigh", "show", "proxy")
