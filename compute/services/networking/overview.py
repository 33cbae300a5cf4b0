"""An overview of all addresses of an instance."""

import ipaddress
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from compute.models import Address, Instance, IPv6Range, RangeShare
from compute.models.networking.addresses import LINK_LOCAL_GATEWAY
from compute.services.networking.addresses import interface_id


@dataclass(frozen=True, slots=True)
class Networking:
    """The addresses of an instance.

    `shared` addresses belong to other instances, and this one may take them over. `reserved` ones are kept for it
    in the region that it is moving to. `slaac` and `link_local` are not rows of the table. `ranges` are routed to
    the instance or shared with it.
    """

    public: list[Address]
    private: list[Address]
    shared: list[Address]
    reserved: list[Address]
    slaac: Address | None
    link_local: Address
    ranges: list[IPv6Range]


def networking(instance: Instance) -> Networking:
    """Return all addresses of the instance. Three queries."""
    addresses = list(Address.objects.of(Instance.objects.filter(pk=instance.pk)).order_by("pk"))
    shares = RangeShare.objects.filter(range=OuterRef("pk"), instance=instance)
    ranges = IPv6Range.objects.for_api().filter(Q(instance=instance) | Exists(shares))
    order = {address: place for place, address in enumerate(instance.ipv4)}
    ipv4 = sorted(
        (row for row in addresses if ":" not in row.address), key=lambda row: order.get(row.address, len(addresses))
    )
    here = [row for row in ipv4 if row.region_id == instance.region_id]
    return Networking(
        public=[row for row in here if row.public],
        private=[row for row in here if not row.public],
        shared=list(Address.objects.filter(shares__instance=instance).order_by("pk")),
        reserved=[row for row in ipv4 if row.region_id != instance.region_id],
        slaac=next((row for row in addresses if ":" in row.address), None),
        link_local=link_local(instance),
        ranges=list(ranges.select_related("instance").order_by("pk")),
    )


def find(instance: Instance, address: str) -> Address | None:
    """Return the address of the instance, in its usual spelling; None if it has no such address."""
    own = link_local(instance)
    if own.address == address:
        return own
    return Address.objects.of(Instance.objects.filter(pk=instance.pk)).filter(address=address).first()


def link_local(instance: Instance) -> Address:
    """Return the address that the instance has only on its own link."""
    return Address(
        address=str(ipaddress.IPv6Network("fe80::/64")[interface_id(instance.pk)]),
        region_id=instance.region_id,
        prefix=64,
        gateway=LINK_LOCAL_GATEWAY,
        public=False,
        instance_id=instance.pk,
    )
