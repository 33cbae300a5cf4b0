"""Interfaces, routes and network settings of the host's kernel, by ``ip`` and /proc/sys."""

import json
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import commands
from compute.drivers.qemu.agent.errors import Failed

SECONDS = 10.0
NET = Path("/proc/sys/net")


def ip(*words: str) -> None:
    """Run ``ip`` with these arguments."""
    commands.run("ip", *words, timeout=SECONDS)


def asked(*words: str) -> list[dict[str, Any]]:
    """Run ``ip`` with JSON output, and return the listed objects."""
    output = commands.run("ip", "-j", *words, timeout=SECONDS).stdout
    found: list[dict[str, Any]] = json.loads(output or "[]")
    return found


def exists(name: str) -> bool:
    return (NET / "ipv4/conf" / name).exists()


def delete(name: str) -> None:
    """Delete an interface, if there is one, with its routes and neighbours."""
    if exists(name):
        ip("link", "del", name)


def ports(bridge: str) -> set[str]:
    """The interfaces that are in a bridge."""
    return {each["ifname"] for each in asked("link", "show", "master", bridge)}


def switch(path: str, value: int) -> None:
    """Set a value below /proc/sys/net. Values for IPv6 are skipped if the host has no IPv6."""
    if path.startswith("ipv6/") and not (NET / "ipv6").exists():
        return
    try:
        (NET / path).write_text(f"{value}\n")
    except OSError as error:
        raise Failed(f"The host's {path} cannot be set: {error.strerror}.") from error


def value(path: str) -> int:
    return int((NET / path).read_text())


def silence(name: str) -> None:
    """Disable IPv6, answers to ARP requests, and IPv4 forwarding on an interface.

    The interface then has no IPv6 address of its own, and does not answer for addresses of the host.
    """
    switch(f"ipv6/conf/{name}/disable_ipv6", 1)
    switch(f"ipv4/conf/{name}/arp_ignore", 8)
    switch(f"ipv4/conf/{name}/forwarding", 0)


def uplink() -> str | None:
    """The interface of the host's default route; None if there is no default route."""
    return next((each["dev"] for each in asked("-4", "route", "show", "default") if "dev" in each), None)


def announce(interface: str, addresses: Sequence[str]) -> None:
    """Announce on an interface that these IPv4 addresses are now here (gratuitous ARP)."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((interface, 0))
        own = raw.getsockname()[4]
        for address in addresses:
            packed = IPv4Address(address).packed
            head = b"\xff" * 6 + own + bytes.fromhex("08060001080006040001")
            raw.send(head + own + packed + bytes(6) + packed)
