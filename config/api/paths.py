"""Path converters. A path that does not match them is unknown: 404, whatever its bytes."""

import ipaddress
from collections.abc import Mapping
from typing import Any, TypeAlias

from django.urls import register_converter

from config import word

MAX_ID = 2**63 - 1
FIRST_YEAR, LAST_YEAR = 2000, 2037
"""The years that a path may name."""

PathParameters: TypeAlias = Mapping[str, Any]
"""The parameters of a path, converted, by name. While SQL is compiled, a `SymbolicPath` takes their place."""


class IDConverter:
    """A numeric id that fits a bigint. ``/compute/instances/99999999999999999999`` does not exist."""

    regex = "[0-9]{1,19}"

    def to_python(self, value: str) -> int:
        number = int(value)
        if number > MAX_ID:
            raise ValueError
        return number

    def to_url(self, value: int) -> str:
        return str(value)


class SlugConverter:
    """A string id. It may contain slashes (``compute/debian11``). Encoded slashes reach the view decoded."""

    regex = r"[^\x00]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class CatalogueSlugConverter(SlugConverter):
    """The id of an image or a kernel. Views receive its neutral form (`config.word`)."""

    def to_python(self, value: str) -> str:
        return word.read(value)

    def to_url(self, value: str) -> str:
        return word.on_wire(value)


class NameConverter:
    """A username, or the id of an OAuth client: one word."""

    regex = "[A-Za-z0-9_-]{1,64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class AddressConverter:
    """An IPv4 or IPv6 address in any notation. Views receive its normal form."""

    regex = "[0-9A-Fa-f:.]{2,45}"

    def to_python(self, value: str) -> str:
        return str(ipaddress.ip_address(value))

    def to_url(self, value: str) -> str:
        return value


class RangeConverter:
    """An IPv6 network with or without its prefix length, in any notation. The slash may be encoded."""

    regex = "[0-9A-Fa-f:.]{2,45}(?:/[0-9]{1,3})?"

    def to_python(self, value: str) -> str:
        address, slash, length = value.partition("/")
        return f"{ipaddress.IPv6Address(address)}{slash}{length}"

    def to_url(self, value: str) -> str:
        return value


register_converter(IDConverter, "id")
register_converter(NameConverter, "name")
register_converter(AddressConverter, "address")
register_converter(RangeConverter, "range")
register_converter(SlugConverter, "slug_id")
register_converter(CatalogueSlugConverter if word.IS_SET else SlugConverter, "catalogue_slug")
