"""The settings of a host, in its file ``host.json``."""

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
    """``kvm`` is hardware virtualization, ``tcg`` is emulation, and ``auto`` is the result of `hosts.check`."""
    qemu: str = "qemu-system-x86_64"
    platform: str = "q35"
    """The machine type of QEMU. Guests see a change of it as new hardware."""
    user: str = ""
    """The user that QEMU runs as if the agent runs as root. Empty: the agent's own user. This user needs no access
    to the host's files, because they are opened for QEMU."""
    grace: float = 60.0
    """Seconds that a guest has to shut down before its power is cut."""
    patience: float = 90.0
    """Seconds after which a guest counts as booted even if no login prompt appeared on its console."""
    networking: bool = False
    """Whether the host makes an interface ``sk-<instance id>`` for each machine, and routes to it. If not, machines
    have QEMU's user-mode network, which no packet filter sees."""
    uplink: str = ""
    """The interface to the internet. Empty: the interface of the default route."""
    private_network: str = "192.168.128.0/17"
    """The region's network of private addresses: the platform's setting PRIVATE_NETWORK."""
    underlay: str = ""
    """The host's IPv4 address between hosts. Empty: the private network and VLANs end at this host."""
    peers: tuple[str, ...] = ()
    """The addresses between hosts of the region's other hosts."""
    trusted: tuple[str, ...] = ()
    """Networks whose packets always reach the host: for the platform's own machines that have an address in a
    network of customers."""
    network_in: int = 40_000
    """The maximum rate that each machine may receive on all its interfaces together, in Mbit/s. 0: no limit. The
    plan sets the rate for sending."""
    disk_iops: int = 20_000
    """The maximum operations a second of each machine, on all its disks and volumes together. 0: no limit."""
    disk_rate: int = 500
    """The maximum MB a second of each machine, on all its disks and volumes together. 0: no limit."""


def load(store: Store) -> Settings:
    """Read the settings of the host. Missing ones have their defaults."""
    found = records.read(store.root / CONFIGURED) or {}
    return Settings(**{each.name: found[each.name] for each in fields(Settings) if each.name in found})


def save(store: Store, settings: Settings) -> None:
    """Write the settings of the host. Running machines use new settings from their next boot on.

    Unknown settings stay in the file: a newer agent wrote them, and uses them again when a downgrade is undone.
    """
    if settings.accel not in ACCELERATORS:
        raise Refused(f"{settings.accel!r} is none of {', '.join(ACCELERATORS)}.")
    store.root.mkdir(parents=True, exist_ok=True)
    known = {each.name for each in fields(Settings)}
    found = records.read(store.root / CONFIGURED) or {}
    others = {name: value for name, value in found.items() if name not in known}
    records.write(store.root / CONFIGURED, others | asdict(settings))


def change(store: Store, **changes: Any) -> None:
    """Change some settings."""
    save(store, replace(load(store), **changes))


def accelerator(store: Store, settings: Settings) -> str:
    """Return ``kvm`` or ``tcg``.

    With ``auto``, raises `Failed` if `hosts.check` has not run yet, or found that machines do not boot.
    """
    if settings.accel != "auto":
        return settings.accel
    found = records.read(store.root / ACCEL)
    if found is None:
        raise Failed("This host has not been checked yet.")
    if found["accel"] is None:
        raise Failed("Machines do not boot on this host.")
    return str(found["accel"])
