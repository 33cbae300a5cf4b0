"""The networks that customers of a region send from, for the packet filter of its hosts.

Address pools of the region count as a whole, so that a new instance is included before it boots. A public pool that
contains the address of a host counts only for the addresses that instances hold now.
"""

from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_address, ip_network
from urllib.parse import urlsplit

from compute.models import Address, AddressPool, Host
from compute.services.networking.addresses import interface_id

Network = IPv4Network | IPv6Network

SLAAC_LENGTH = 80
"""The length of the prefix that all instances of a SLAAC pool share: 16 bits of their interface ids are fixed.
Hosts may have other addresses of the same /64."""


def networks_of(region: str) -> list[str]:
    """The networks of the region's customers, without gateways and known addresses of hosts, in order."""
    found: list[Network] = []
    gateways: set[Network] = set()
    hosts = _host_addresses(region)
    for pool in AddressPool.objects.filter(region=region).exclude(kind=AddressPool.Kind.PRIVATE):
        network = ip_network(pool.network)
        if pool.kind == AddressPool.Kind.SLAAC:
            found.append(_instances_of(network))
        elif pool.kind == AddressPool.Kind.PUBLIC and any(ip_address(each) in network for each in hosts):
            found += _assigned_addresses(pool)
        else:
            found.append(network)
        gateways.add(ip_network(pool.gateway))
    for each in gateways | {ip_network(each) for each in hosts}:
        found = [part for network in found for part in _without(network, each)]
    return [str(each) for version in (4, 6) for each in _collapsed(found, version)]


def _host_addresses(region: str) -> set[str]:
    """The addresses of the region's hosts that their rows name."""
    found = set()
    for underlay, location in Host.objects.filter(region=region).values_list("underlay", "location"):
        found |= {each for each in (underlay, _literal(location)) if each}
    return found


def _literal(location: str) -> str | None:
    """Return the address in a location; None if the location has a name."""
    try:
        name = urlsplit(location).hostname or ""
        return str(ip_address(name))
    except ValueError:
        return None


def _instances_of(slaac: Network) -> Network:
    first = int(slaac.network_address) + interface_id(0)
    return IPv6Network((first, SLAAC_LENGTH), strict=False)


def _assigned_addresses(pool: AddressPool) -> list[Network]:
    assigned = Address.objects.filter(pool=pool, instance__isnull=False)
    return [ip_network(each) for each in assigned.values_list("address", flat=True)]


def _without(network: Network, address: Network) -> list[Network]:
    """The parts of a network that do not contain an address."""
    if address.version != network.version or not network.overlaps(address):
        return [network]
    return list(network.address_exclude(address))  # type: ignore[arg-type] # both of one version


def _collapsed(networks: list[Network], version: int) -> list[Network]:
    return list(collapse_addresses(each for each in networks if each.version == version))  # type: ignore[type-var]
