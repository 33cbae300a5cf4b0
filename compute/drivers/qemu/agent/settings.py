"""What is configured for a host, in its file ``host.json``."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from compute.drivers.qemu.agent import records
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store

CONFIGURED, ACCEL = "host.json", "accel.json"
ACCELERATORS = ("auto", "kvm", "tcg")


@dataclass(frozen=True, slots=True)
class Settings:
    accel: str = "auto"
    """``kvm`` is a processor's own virtualization, ``tcg`` emulation; ``auto`` what `hosts.check` found to work."""
    qemu: str = "qemu-system-x86_64"
    platform: str = "q35"
    """The machine type of QEMU. Guests see a change of it as new hardware."""
    user: str = ""
    """The user that QEMU runs as where the agent is root's. Empty: the agent's own. It may open nothing of the
    host's: files that it is to have are opened for it."""
    grace: float = 60.0
    """Seconds that a guest has to shut down before its power is cut."""
    patience: float = 90.0
    """Seconds after which a guest that says nothing on its console is taken to have booted."""
    networking: bool = False
    """Whether the host makes an interface ``sk-<instance id>`` for each machine, and routes to it. Without,
    machines have QEMU's user-mode network, which no packet filter sees."""
    uplink: str = ""
    """The interface that leads to the world; empty: that of the default route."""
    private_network: str = "192.168.128.0/17"
    """The region's network of private addresses: the platform's setting PRIVATE_NETWORK."""
    underlay: str = ""
    """The host's IPv4 address between hosts. Empty: its private network and its VLANs end here."""
    peers: tuple[str, ...] = ()
    """Those of the region's other hosts."""
    trusted: tuple[str, ...] = ()
    """Networks whose packets always reach the host: for machines of the platform that have an address in a network
    of customers."""
    network_in: int = 40_000
    """What each machine may receive, on all its interfaces together, in Mbit/s; 0 limits nothing. What it may send
    is its plan's."""
    disk_iops: int = 20_000
    """What each machine may read and write of all its disks and volumes together, in operations a second; 0 limits
    nothing."""
    disk_rate: int = 500
    """The same in MB a second."""


def load(store: Store) -> Settings:
    """The settings of the host, each that is not given by its default."""
    found = records.read(store.root / CONFIGURED) or {}
    return Settings(**{each.name: found[each.name] for each in fields(Settings) if each.name in found})


def save(store: Store, settings: Settings) -> None:
    """Configure the host. Machines that are on are as before until their next boot.

    What the file has beside these stays: a newer agent has written it, which comes back after a way back.
    """
    if settings.accel not in ACCELERATORS:
        raise Refused(f"{settings.accel!r} is none of {', '.join(ACCELERATORS)}.")
    store.root.mkdir(parents=True, exist_ok=True)
    known = {each.name for each in fields(Settings)}
    found = records.read(store.root / CONFIGURED) or {}
    others = {name: value for name, value in found.items() if name not in known}
    records.write(store.root / CONFIGURED, others | asdict(settings))


def change(store: Store, **changes: Any) -> None:
    """Configure some of it anew."""
    save(store, replace(load(store), **changes))


def accelerator(store: Store, settings: Settings) -> str:
    """``kvm`` or ``tcg``. Raises `Failed` where that is for `hosts.check` to find out, and nobody has asked it
    to."""
    if settings.accel != "auto":
        return settings.accel
    found = records.read(store.root / ACCEL)
    if found is None:
        raise Failed("This host has not been checked yet.")
    if found["accel"] is None:
        raise Failed("Machines do not boot on this host.")
    return str(found["accel"])
