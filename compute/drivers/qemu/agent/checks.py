"""Checks of callers' plain values. A check returns the value that a verb may use, or raises `ValueError`.

Checks list what names, numbers, addresses and choices may be. They do not list what is forbidden.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compute.drivers.qemu.agent.errors import Failed

Check = Callable[[Any], Any]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
OTHER_RELEASE = "The host's agent and the workers are of different releases: upgrade both."


def text(pattern: str) -> Check:
    """A text that matches a pattern as a whole."""
    known = re.compile(pattern, re.ASCII)

    def check(value: Any) -> str:
        if not isinstance(value, str) or not known.fullmatch(value):
            raise ValueError(pattern)
        return value

    return check


def content(most: int) -> Check:
    """Any text of at most `most` characters: the content of a file, never a name or an argument."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise ValueError(most)
        return value

    return check


def whole(least: int, most: int) -> Check:
    """A whole number within bounds."""

    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(least, most)
        return value

    return check


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(type(value))
    return value


def one_of(*values: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(values)
        return value

    return check


def optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def blank_or(check: Check) -> Check:
    return lambda value: "" if value == "" else check(value)


def many(check: Check, most: int) -> Check:
    """A list of at most `most` values."""

    def checked(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple) or len(value) > most:
            raise ValueError(most)
        return [check(each) for each in value]

    return checked


def row(*checks: Check) -> Check:
    """A list of exactly these values."""

    def checked(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise ValueError(len(checks))
        return [check(each) for check, each in zip(checks, value, strict=True)]

    return checked


def table(key: Check, check: Check, most: int) -> Check:
    """A mapping of at most `most` names."""

    def checked(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping) or len(value) > most:
            raise ValueError(most)
        return {key(name): check(each) for name, each in value.items()}

    return checked


def fields(known: Mapping[str, Check], needed: Iterable[str], lenient: bool = False) -> Check:
    """A mapping with fields of these names, the `needed` ones at least.

    Unknown fields come from another release. A `lenient` check leaves them out; other checks raise `Failed`.
    """
    required = frozenset(needed)

    def checked(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError(type(value))
        if not lenient and value.keys() - known.keys():
            raise Failed(OTHER_RELEASE)
        if required - value.keys():
            raise ValueError(required)
        return {name: check(value[name]) for name, check in known.items() if name in value}

    return checked


# --- addresses ----------------------------------------------------------------------------------------------------


def _plain(value: Any) -> str:
    """A text without the scope of an IPv6 address, which may contain anything."""
    if not isinstance(value, str) or "%" in value or len(value) > 64:
        raise ValueError("address")
    return value


def ipv4(value: Any) -> str:
    return str(ipaddress.IPv4Address(_plain(value)))


def ipv6(value: Any) -> str:
    return str(ipaddress.IPv6Address(_plain(value)))


def address(value: Any) -> str:
    return str(ipaddress.ip_address(_plain(value)))


def interface(value: Any) -> str:
    """An address with the length of its prefix."""
    return str(ipaddress.ip_interface(_plain(value)))


def ipv4_network(value: Any) -> str:
    return str(ipaddress.IPv4Network(_plain(value), strict=False))


def ipv6_network(value: Any) -> str:
    return str(ipaddress.IPv6Network(_plain(value), strict=False))


def network(value: Any) -> str:
    return str(ipaddress.ip_network(_plain(value), strict=False))


def collapsed(networks: Iterable[str]) -> list[Network]:
    """Networks of one family in order, merged where they overlap or touch."""
    parsed = [ipaddress.ip_network(_plain(each), strict=False) for each in networks]
    return list(ipaddress.collapse_addresses(parsed))  # type: ignore[type-var] # all of one family
