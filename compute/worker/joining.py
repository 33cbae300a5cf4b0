"""Hosts that are reached by ssh: what their administrator does there for the platform, from where workers are."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from compute.drivers.base import DriverError
from compute.drivers.qemu.joining import NO_GUEST, Operator, scan
from compute.drivers.qemu.ssh import Place
from compute.models import Host
from compute.services.hosts import access
from compute.worker.hosts import NotReady


@dataclass(frozen=True, slots=True)
class Presented:
    """The key that a host presents, which is nobody's word yet but its own."""

    key: str
    fingerprint: str


def is_by_ssh(host: Host) -> bool:
    return host.location.startswith("ssh:")


def presented(location: str) -> Presented:
    """Raises `NotReady` where the host presents none."""
    try:
        key = scan(location)
        return Presented(key, access.fingerprint(key))
    except (DriverError, ValueError) as error:
        raise NotReady(str(error)) from error


def join(host: Host, identity: str = "", guest: Path | None = None, user: str = "") -> None:
    """Put the agent and the platform's key onto a host by the operator's own ssh, with `identity` as its key where
    one is named, and what is in `guest` where the host has none. QEMU is to run as `user` there. Raises
    `NotReady`."""
    try:
        found = operator(host, identity).join(access.platform_key().public, guest, user)
    except DriverError as error:
        raise NotReady(str(error)) from error
    if found["problems"]:
        remedy = () if found["kernels"] and found["images"] else (NO_GUEST,)
        raise NotReady(" ".join([*found["problems"], *remedy]))


def have_route(host: Host, identity: str = "") -> None:
    """Have a host route to its machines. Raises `NotReady`."""
    try:
        operator(host, identity).have_route(str(settings.PRIVATE_NETWORK))
    except DriverError as error:
        raise NotReady(str(error)) from error


def leave(host: Host, identity: str = "") -> None:
    """Have a host let the platform's key in no longer. Raises `NotReady`."""
    try:
        operator(host, identity).dismiss(access.platform_key().public)
    except DriverError as error:
        raise NotReady(str(error)) from error


def place_of(host: Host) -> Place:
    """The user, machine and directory that a host's location names."""
    return Place.of(host.location)


def public_key() -> str:
    """The platform's key, as it stands in a host's ``authorized_keys``."""
    return access.platform_key().public


def operator(host: Host, identity: str = "") -> Operator:
    """A host as who runs this reaches it: its administrator."""
    return Operator(host.location, host.shared, host.host_key, identity)
