"""Serializers of addresses and IPv6 ranges, and the bodies of requests about them."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, IPAddressField, ListField

from compute.models import Address
from compute.services.common.dns_names import MAX_NAME_LENGTH
from compute.services.networking.addresses import default_rdns
from compute.services.networking.ranges import SIZES, RangeSpec
from compute.services.networking.reassign import Assignment
from config.api.common_fields import IdField
from config.api.fields import Computed
from config.api.meanings import Meanings
from config.api.serializers import Resource


def subnet_mask(address: str, prefix: int) -> str:
    network = ipaddress.IPv6Network if ":" in address else ipaddress.IPv4Network
    return str(network((0, prefix)).netmask)


def gateway(address: str, public: bool, stored: str) -> str | None:
    """Return the gateway of an address; None for private IPv4, which is not routed outside its region."""
    return stored if public or ":" in address else None


def reverse_name(address: str, public: bool, stored: str | None) -> str | None:
    """Return the reverse name that was set, or the platform's default for public IPv4."""
    if stored or not public or ":" in address:
        return stored or None
    return default_rdns(address, settings.PLATFORM_DOMAIN)


def kind(address: str) -> str:
    return "ipv6" if ":" in address else "ipv4"


def route_target(stored: str | None, slaac: str | None, is_shared: bool = False) -> str | None:
    """Return the address that a range is routed to: `stored`, set by staff, or the SLAAC address of its instance.

    Return None for a shared range, because each of its instances may take it over.
    """
    return None if is_shared else stored or (slaac.partition("/")[0] if slaac else None)


class AddressResource(Resource):
    """An address of an instance. SLAAC and link-local addresses are shown like the others."""

    address = IPAddressField(read_only=True, help_text="The IP address.")
    gateway = Computed(
        CharField(allow_null=True),
        gateway,
        "address",
        "public",
        "gateway",
        help_text="The gateway of the address. Null for private addresses.",
    )
    subnet_mask = Computed(CharField(), subnet_mask, "address", "prefix", help_text="The subnet mask.")
    prefix = IntegerField(read_only=True, help_text="The length of the network prefix, in bits.")
    type = Computed(
        ChoiceField(["ipv4", "ipv6", "ipv6/pool", "ipv6/range"]),
        kind,
        "address",
        ordered_by="address",  # IPv4 comes first
        help_text=Meanings(
            "The type of the address.",
            {
                "ipv4": "An IPv4 address.",
                "ipv6": "An IPv6 address, SLAAC or link-local.",
                "ipv6/pool": "Not shown by this platform.",
                "ipv6/range": "Not shown by this platform.",
            },
        ),
    )
    public = BooleanField(read_only=True, help_text="Whether the address is public.")
    rdns = Computed(
        CharField(allow_null=True),
        reverse_name,
        "address",
        "public",
        "rdns",
        help_text="The reverse DNS name. Null for private addresses.",
    )
    compute_id = IntegerField(
        source="instance_id", read_only=True, help_text="The id of the instance with the address."
    )
    region = CharField(source="region_id", read_only=True)


class IPv6RangeResource(Resource):
    """A network of IPv6 addresses, and the address that it is routed to."""

    range = IPAddressField(read_only=True, help_text="The first address of the range.")
    prefix = IntegerField(read_only=True)
    region = CharField(source="region_id", read_only=True)
    route_target = Computed(
        CharField(allow_null=True),
        route_target,
        "route_target",
        "instance__ipv6",
        "is_shared",
        help_text="The address that the range is routed to. Null if the range is shared, or if no instance has it.",
    )


class IPv6PoolResource(IPv6RangeResource):
    """A /116 of IPv6 addresses, which staff give out."""


class IPv6RangeDetail(Resource):
    """A range, the instance that it is routed to, and the instances that share it."""

    range = CharField(source="range.range", read_only=True, help_text="The first address of the range.")
    prefix = IntegerField(source="range.prefix", read_only=True)
    region = CharField(source="range.region_id", read_only=True)
    is_bgp = BooleanField(source="range.is_shared", read_only=True, help_text="Whether the range is shared.")
    computes = ListField(
        child=IntegerField(),
        read_only=True,
        help_text="The instance that the range is routed to, and the instances that it is shared with.",
    )


class IPv4Networking(Resource):
    """The IPv4 addresses of an instance."""

    public = AddressResource(many=True, read_only=True, help_text="Public addresses.")
    private = AddressResource(
        many=True, read_only=True, help_text="Private addresses, for traffic within the region."
    )
    shared = AddressResource(
        many=True, read_only=True, help_text="Addresses of other instances that are shared with the instance."
    )
    reserved = AddressResource(
        many=True,
        read_only=True,
        help_text="Addresses in the target region, while the instance moves. Otherwise empty.",
    )


class IPv6Networking(Resource):
    """The IPv6 addresses of an instance."""

    slaac = AddressResource(
        read_only=True, allow_null=True, help_text="The SLAAC address of the instance. Null if there is none."
    )
    link_local = AddressResource(read_only=True, help_text="The link-local address of the instance.")
    global_ = IPv6PoolResource(
        many=True, read_only=True, help_text="Ranges and pools that are routed to the instance or shared with it."
    )


class NetworkingResource(Resource):
    """All addresses of an instance. It may take over the `shared` addresses, which belong to other instances."""

    ipv4 = IPv4Networking(read_only=True, help_text="The IPv4 addresses of the instance.")
    ipv6 = IPv6Networking(read_only=True, help_text="The IPv6 addresses and ranges of the instance.")


# --- requests -----------------------------------------------------------------------------------------------


class AddressRequest(Resource):
    """The body of a new address."""

    type = ChoiceField(
        ["ipv4"],
        help_text=Meanings(
            "The type of the address.",
            {
                "ipv4": "An IPv4 address.",
            },
        ),
    )
    public = BooleanField(
        help_text="Whether the address is public. An instance can have one private address at most."
    )


class AddressAllocation(AddressRequest):
    """The body of a new address for an instance."""

    compute_id = IdField(help_text="The instance that gets the address.")


class RdnsRequest(Resource):
    """The body of a change of a reverse name."""

    rdns = CharField(
        allow_null=True,
        max_length=MAX_NAME_LENGTH,
        help_text="The reverse DNS name. It must resolve to the address. Null restores the default of the "
        "platform.",
    )


class AssignmentRequest(Resource):
    """An address or range, and the instance that gets it."""

    address = CharField(
        max_length=64, help_text="An IPv4 address, or an IPv6 range with or without its prefix length."
    )
    compute_id = IdField(help_text="The instance that gets the address.")

    class Meta:
        in_part = True


class AssignRequest(Resource):
    """The body of an assignment of addresses."""

    region = CharField(help_text="The region of the addresses and instances.")
    # the stubs lack min_length for serializers with many=True
    assignments = AssignmentRequest(  # type: ignore[call-arg]
        many=True, min_length=1, help_text="The addresses and the instances that get them. At least one."
    )


class ShareRequest(Resource):
    """The body of a request that shares addresses."""

    compute_id = IdField(help_text="The instance that the addresses are shared with.")
    ips = ListField(
        child=CharField(max_length=64),
        help_text="The complete new list: public IPv4 addresses of other instances, and IPv6 ranges of any "
        "instance, including its own.",
    )


@extend_schema_field({"type": "integer", "enum": list(SIZES)})
class SizeField(IntegerField):
    """The prefix length of a new range. A choice field would accept texts too."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if value not in SIZES:
            self.fail("invalid")
        return value


class IPv6RangeRequest(Resource):
    """The body of a new range."""

    prefix_length = SizeField(
        help_text=Meanings(
            "The prefix length of the range, in bits.",
            {
                "56": "256 networks of 64 bits.",
                "64": "One network.",
            },
        )
    )
    compute_id = IdField(
        required=False,
        help_text="The instance that the range is routed to. Either this or `route_target` is required.",
    )
    route_target = CharField(
        max_length=64, required=False, help_text="The SLAAC address of the instance that the range is routed to."
    )


class IPv6RangeMade(Resource):
    """The new range, with its prefix length."""

    range = CharField(read_only=True, help_text="The new range, with its prefix length.")
    route_target = CharField(read_only=True, help_text="The address that the range is routed to.")


def assignments_of(given: Mapping[str, Any]) -> list[Assignment]:
    """Return the assignments for the service, from the valid fields of a body."""
    return [Assignment(each.get("address"), each.get("compute_id")) for each in given.get("assignments", ())]


def range_spec(given: Mapping[str, Any]) -> RangeSpec:
    """Return the spec of a range for the service, from the valid fields of a body."""
    return RangeSpec(given.get("prefix_length"), given.get("compute_id"), given.get("route_target"))


def shown(rows: Iterable[Address]) -> list[dict[str, Any]]:
    """Return addresses as the API shows them."""
    return AddressResource(rows, many=True).data
