"""Packet filters of machines: texts for ``nft -f``, of which the newest is kept and in force."""

from pathlib import Path

from compute.drivers.qemu.agent import commands, records, settings
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.agent.verbs import NoMachine, working

FIREWALL = "firewall.json"
NFT_SECONDS = 10.0


def set_firewall(store: Store, machine: str, version: int, ruleset: str) -> int:
    """Filter a machine's packets by a ruleset unless it has a newer one; the version in force, 0 without a machine.

    It is applied where the host has an interface for each machine. User-mode network passes no packet filter of the
    host's: there it is kept, for a move to a host that applies it.
    """
    try:
        with working(store, machine) as (directory, _):
            keep(directory, version, ruleset)
            apply(store, directory)
            return int((records.read(directory / FIREWALL) or {})["version"])
    except NoMachine:
        return 0


def firewall(store: Store, machine: str) -> dict[str, object] | None:
    """``version`` and ``ruleset`` in force for a machine; None where none was ever set."""
    return records.read(store.machine(machine) / FIREWALL)


def keep(directory: Path, version: int, ruleset: str) -> None:
    """Keep a ruleset unless there is a newer one."""
    known = records.read(directory / FIREWALL)
    if known is None or known["version"] < version:
        records.write(directory / FIREWALL, {"version": version, "ruleset": ruleset})


def apply(store: Store, directory: Path) -> None:
    """Load the ruleset that is kept, which replaces the one before: also after the host's own restart."""
    known = records.read(directory / FIREWALL)
    if known is not None and settings.load(store).networking:
        commands.run("nft", "-f", "-", given=known["ruleset"], timeout=NFT_SECONDS)


def remove(store: Store, machine: str) -> None:
    """Filter nothing of a machine from now on."""
    if settings.load(store).networking and (store.machine(machine) / FIREWALL).exists():
        table = f"table inet {machine}"
        commands.run("nft", "-f", "-", given=f"{table}\ndelete {table}\n", timeout=NFT_SECONDS)
