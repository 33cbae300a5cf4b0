"""An administrator's tasks on hosts that ssh reaches. They use the ssh of the user who runs this process."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from compute.drivers.base import DriverError
from compute.drivers.qemu.host_setup import NO_GUEST, Operator, scan
from compute.drivers.qemu.ssh import Place
from compute.models import Host
from compute.services.hosts import access
from compute.worker.hosts import NotReady


@dataclass(frozen=True, slots=True)
class Presented:
    """The key that a host presents, which nobody has verified yet."""

    key: str
    fingerprint: str


def is_by_ssh(host: Host) -> bool:
    return host.location.startswith("ssh:")


def presented(location: str) -> Presented:
    """Return the key that a host presents. Raises `NotReady` if it presents none."""
    try:
        key = scan(location)
        return Presented(key, access.fingerprint(key))
    except (DriverError, ValueError) as error:
        raise NotReady(str(error)) from error


def join(host: Host, identity: str = "", guest: Path | None = None, user: str = "") -> None:
    """Install the agent and the platform's key on a host by the operator's own ssh.

    `identity` is the ssh key to use, if not the default one. Files in `guest` are copied if the host has none. QEMU
    will run as `user` there. Raises `NotReady`.
    """
    try:
        found = operator(host, identity).join(access.platform_key().public, guest, user)
    except DriverError as error:
        raise NotReady(str(error)) from error
    if found["problems"]:
        remedy = () if found["kernels"] and found["images"] else (NO_GUEST,)
        raise NotReady(" ".join([*found["problems"], *remedy]))


def have_route(host: Host, identity: str = "") -> None:
    """Set up routing from a host to its machines. Raises `NotReady`."""
    try:
        operator(host, identity).have_route(str(settings.PRIVATE_NETWORK))
    except DriverError as error:
        raise NotReady(str(error)) from error


def leave(host: Host, identity: str = "") -> None:
    """Remove the platform's key from a host. Raises `NotReady`."""
    try:
        operator(host, identity).dismiss(access.platform_key().public)
    except DriverError as error:
        raise NotReady(str(error)) from error


def place_of(host: Host) -> Place:
    """Return the user, machine and directory that a host's location names."""
    return Place.of(host.location)


def public_key() -> str:
    """Return the platform's key as a line of a host's ``authorized_keys``."""
    return access.platform_key().public


def operator(host: Host, identity: str = "") -> Operator:
    """Return access to a host as its administrator, by the ssh of the user who runs this process."""
    return Operator(host.location, host.shared, host.host_key, identity)
