"""What addresses and ranges look like on the wire, and the requests that are about them."""

import ipaddress
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, IPAddressField, ListField

from compute.services.common.dns_names import MAX_NAME_LENGTH
from compute.services.networking.addresses import default_rdns
from compute.services.networking.ranges import SIZES
from config.api.fields import Computed, Constant
from config.api.serializers import Resource


def subnet_mask(address: str, prefix: int) -> str:
    network = ipaddress.IPv6Network if ":" in address else ipaddress.IPv4Network
    return str(network((0, prefix)).netmask)


def gateway(address: str, public: bool, stored: str) -> str | None:
    """Private IPv4 leads nowhere else."""
    return stored if public or ":" in address else None


def reverse_name(address: str, public: bool, stored: str | None) -> str | None:
    """The name that was set, or the platform's for public IPv4."""
    if stored or not public or ":" in address:
        return stored or None
    return default_rdns(address, settings.PLATFORM_DOMAIN)


def kind(address: str) -> str:
    return "ipv6" if ":" in address else "ipv4"


def route_target(stored: str | None, slaac: str | None) -> str | None:
    """Where a range is routed: the SLAAC address of its instance, unless staff said otherwise."""
    return stored or (slaac.partition("/")[0] if slaac else None)


class AddressResource(Resource):
    """An address of an instance. SLAAC and link-local addresses are shown like the others."""

    address = IPAddressField(read_only=True)
    gateway = Computed(CharField(allow_null=True), gateway, "address", "public", "gateway")
    subnet_mask = Computed(CharField(), subnet_mask, "address", "prefix")
    prefix = IntegerField(read_only=True, help_text="Bits of the mask.")
    type = Computed(ChoiceField(["ipv4", "ipv6", "ipv6/pool", "ipv6/range"]), kind, "address")
    public = BooleanField(read_only=True)
    rdns = Computed(CharField(allow_null=True), reverse_name, "address", "public", "rdns")
    compute_id = IntegerField(source="instance_id", read_only=True)
    region = CharField(source="region_id", read_only=True)

    class Meta:
        filterable = ("region",)


class IPv6RangeResource(Resource):
    """A network of IPv6 addresses, and the address that it is routed to."""

    range = CharField(read_only=True, help_text="Its first address.")
    prefix = IntegerField(read_only=True)
    region = CharField(source="region_id", read_only=True)
    route_target = Computed(CharField(allow_null=True), route_target, "route_target", "instance__ipv6")


class IPv6PoolResource(IPv6RangeResource):
    """A /116 of IPv6 addresses, which staff give out."""

    class Meta:
        filterable = ("region",)


class IPv6RangeDetail(Resource):
    """A range with the instances it is routed to."""

    range = CharField(read_only=True)
    prefix = IntegerField(read_only=True)
    region = CharField(source="region_id", read_only=True)
    is_bgp = Constant(BooleanField(), False)
    computes = Computed(
        ListField(child=IntegerField()), lambda pk: [] if pk is None else [pk], "instance_id"
    )  # fmt: skip


class IPv4Networking(Resource):
    public = AddressResource(many=True, read_only=True)
    private = AddressResource(many=True, read_only=True)
    shared = AddressResource(many=True, read_only=True)
    reserved = AddressResource(many=True, read_only=True)


class IPv6Networking(Resource):
    slaac = AddressResource(read_only=True, allow_null=True)
    link_local = AddressResource(read_only=True)
    global_ = IPv6PoolResource(many=True, read_only=True)


class NetworkingResource(Resource):
    """All addresses of an instance: `shared` are others' that it may take over."""

    ipv4 = IPv4Networking(read_only=True)
    ipv6 = IPv6Networking(read_only=True)


# --- requests -----------------------------------------------------------------------------------------------


class AddressRequest(Resource):
    type = ChoiceField(["ipv4"])
    public = BooleanField()


class AddressAllocation(AddressRequest):
    compute_id = IntegerField(min_value=1)


class RdnsRequest(Resource):
    rdns = CharField(allow_null=True, max_length=MAX_NAME_LENGTH, help_text="Null restores the platform's.")


class AssignmentRequest(Resource):
    address = CharField(
        max_length=64, help_text="An IPv4 address, or an IPv6 range with or without its prefix length."
    )
    compute_id = IntegerField(min_value=1)


class AssignRequest(Resource):
    region = CharField()
    assignments = AssignmentRequest(many=True)


class ShareRequest(Resource):
    compute_id = IntegerField(min_value=1)
    ips = ListField(child=CharField(max_length=64), help_text="All that the compute is to share from then on.")


@extend_schema_field({"type": "integer", "enum": list(SIZES)})
class SizeField(IntegerField):
    """How large a range is to be. A choice of numbers would take texts as well."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if value not in SIZES:
            self.fail("invalid")
        return value


class IPv6RangeRequest(Resource):
    prefix_length = SizeField()
    compute_id = IntegerField(min_value=1, required=False)
    route_target = CharField(max_length=64, required=False, help_text="The SLAAC address of a compute.")


class IPv6RangeMade(Resource):
    """The new range, with its prefix length."""

    range = CharField(read_only=True)
    route_target = CharField(read_only=True)
