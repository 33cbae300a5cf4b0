"""Packet filters of machines. The host stores the newest one as data, renders it as a ruleset, and loads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compute.drivers.qemu.agent import commands, records, settings
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.machines.machine_dirs import NoMachine, locked_machine
from compute.drivers.qemu.agent.networks import packet_filters
from compute.drivers.qemu.agent.store import Store

FIREWALL = "firewall.json"
TEXT = "ruleset"
NFT_SECONDS = 10.0
EARLIER_FORM = "The machine's packet filter has the format of an earlier release. The platform sends it again."


def set_firewall(store: Store, machine: str, firewall: Mapping[str, Any]) -> int:
    """Filter a machine's packets by `firewall`, unless it has a newer one.

    Return the version in force; 0 if there is no such machine. `firewall` has the fields of the interface's
    `FirewallSpec`. A host without `networking` only stores it, for a move to another host: packets of QEMU's
    user-mode network pass no packet filter of the host.
    """
    try:
        with locked_machine(store, machine) as (directory, _):
            keep(directory, firewall)
            known = records.read(directory / FIREWALL) or {}
            if not _is_text(known):
                apply(store, directory)
            return int(known["version"])
    except NoMachine:
        return 0


def firewall(store: Store, machine: str) -> dict[str, object] | None:
    """The packet filter in force for a machine. None if none was ever set."""
    known = records.read(store.machine(machine) / FIREWALL)
    if known is None or _is_text(known):
        return known
    return {name: value for name, value in known.items() if name != TEXT}


def keep(directory: Path, firewall: Mapping[str, Any]) -> None:
    """Store a packet filter, unless a newer one is stored.

    A stored one in the form of an earlier release is also replaced by the same version.
    """
    known = records.read(directory / FIREWALL)
    if known is None or known["version"] < firewall["version"] + _is_text(known):
        # an agent of the previous release needs the text after a downgrade; this agent never reads it
        records.write(directory / FIREWALL, {**firewall, TEXT: packet_filters.render(directory.name, firewall)})


def check_kept(store: Store, directory: Path) -> None:
    """Raise `Failed` if an earlier release stored the packet filter as text: a caller's text is never loaded."""
    known = records.read(directory / FIREWALL)
    if known is not None and _is_text(known) and settings.load(store).networking:
        raise Failed(EARLIER_FORM)


def apply(store: Store, directory: Path) -> None:
    """Load the stored packet filter in place of the loaded one. A restart of the host unloads it."""
    known = records.read(directory / FIREWALL)
    if known is not None and settings.load(store).networking:
        check_kept(store, directory)
        _load(packet_filters.render(directory.name, known))


def remove(store: Store, machine: str) -> None:
    """Delete the packet filter of a machine from the kernel."""
    if settings.load(store).networking and (store.machine(machine) / FIREWALL).exists():
        _load("".join(f"{line}\n" for line in packet_filters.removal(machine)))


def _is_text(known: Mapping[str, Any]) -> bool:
    """Tell whether an agent of an earlier release stored this packet filter, as a caller's text without data."""
    return "rules" not in known


def _load(ruleset: str) -> None:
    commands.run("nft", "-f", "-", given=ruleset, timeout=NFT_SECONDS)
