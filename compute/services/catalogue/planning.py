"""Planning: the differences between rows and a file, and the rules for changing the rows. Nothing is written
here."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db.models import Model

from compute.jobs.data import SIMULATED
from compute.models import AddressPool, Host, ResourcePrice
from compute.services.catalogue.current_rows import PLATFORM_KERNELS, Present
from compute.services.catalogue.schema import (
    ITEMS,
    SECTIONS,
    Catalogue,
    HostItem,
    Item,
    KernelItem,
    PoolItem,
    PriceItem,
    RegionItem,
    TypeItem,
    path_of,
)
from compute.services.hosts.placement import RESOURCES
from compute.services.networking.pools import check_shape
from config.errors import Problems
from regions.models import AFTER_CATALOGUE, CAPABILITIES, Region

STEP = 10
"""The distance between the positions of two items of a section."""
RETIRED = {"regions": "retired", "types": "deprecated", "kernels": "deprecated", "images": "deprecated"}
"""The column that closes a row for new uses. Present users keep the row."""


NEVER_RETIRED = ("pools", "prices", "trust_levels")
"""Sections whose rows are removed. A row that is used refuses the file."""


class Verb(StrEnum):
    ADD = "add"
    CHANGE = "change"
    RETIRE = "retire"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of a column, with the name that files have for it."""

    attribute: str
    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one row.

    `reason` says why a row that is missing in the file is not removed. It contains counts, which may change while
    somebody reads the plan. So it does not count when plans are compared.
    """

    section: str
    name: str
    verb: Verb
    item: Item | None = None
    differences: tuple[Difference, ...] = ()
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes of an apply. Two plans that are equal do the same."""

    changes: tuple[Change, ...] = ()
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    """New positions of present rows, by section and name."""
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The order of the file, by section, if present rows are in a different order."""

    def __bool__(self) -> bool:
        return bool(self.changes or any(self.positions.values()))

    def count(self, verb: Verb) -> int:
        return sum(change.verb == verb for change in self.changes)


def plan(catalogue: Catalogue, there: Present, problems: Problems) -> Plan:
    """Return the plan that changes the file's sections to the file's values, and note in `problems` what cannot be
    done."""
    changes: list[Change] = []
    positions: dict[str, dict[str, int]] = {}
    orders: dict[str, tuple[str, ...]] = {}
    for section in SECTIONS:
        if section not in catalogue:
            continue
        items, rows = catalogue[section], there.rows[section]
        _CHECKS.get(section, _no_check)(items, catalogue, there, problems)
        for item in items:
            row = rows.get(item.name)
            changes += _of_item(section, item, row, there, problems)
        named = {item.name for item in items}
        changes += _of_others(
            section, {name: row for name, row in rows.items() if name not in named}, there, problems
        )
        if ITEMS[section].ordered:
            gone = {change.name for change in changes if change.section == section and change.verb == Verb.REMOVE}
            stay = {name: row for name, row in rows.items() if name not in gone}
            positions[section], moved = _order([item.name for item in items], stay)
            if moved:
                orders[section] = tuple(item.name for item in items)
    return Plan(tuple(changes), {section: found for section, found in positions.items() if found}, orders)


# --- rows -------------------------------------------------------------------------------------------------


def _of_item(section: str, item: Item, row: Model | None, there: Present, problems: Problems) -> Iterator[Change]:
    if row is None:
        yield Change(section, item.name, Verb.ADD, item)
        return
    differences = tuple(_differences(item, row))
    used = there.used_by(section, item.name) if section != "hosts" else "An existing host keeps its value"
    if section == "pools":
        used = "A pool cannot change, so remove it and add another"
    for each in differences if used else ():
        if each.attribute in item.fixed:
            problems.add(f"{section}.{item.name}.{each.path}", f"Cannot change from {_shown(each.before)}: {used}.")
    if differences:
        yield Change(section, item.name, Verb.CHANGE, item, differences)


def _differences(item: Item, row: Model) -> Iterator[Difference]:
    for attribute, after in item.stated().items():
        before = getattr(row, attribute)
        if attribute == "maintenance":
            before = before is not None
        if before != after:
            yield Difference(attribute, path_of(type(item), attribute), before, after)


def _of_others(section: str, rows: dict[str, Model], there: Present, problems: Problems) -> Iterator[Change]:
    """Yield the changes of rows that the file's section does not have."""
    successors = _successors_of_staying(rows, there) if section == "types" else set()
    for name, row in rows.items():
        used = there.used_by(section, name)
        if section == "hosts":
            if getattr(row, "enabled"):  # noqa: B009 - the type checker knows a model alone
                yield Change(
                    section, name, Verb.RETIRE, differences=(Difference("enabled", "enabled", True, False),)
                )
        elif section in NEVER_RETIRED:
            if used:
                problems.add(f"{section}.{name}", f"Cannot be removed: {used}.")
            else:
                yield Change(section, name, Verb.REMOVE)
        elif section == "types" and used is None and name in successors:
            yield from _retired(section, name, row, "a type that stays names it as its successor")
        elif section != "regions" and used is None:
            yield Change(section, name, Verb.REMOVE)
        else:
            yield from _retired(section, name, row, used or "")


def _successors_of_staying(gone: dict[str, Model], there: Present) -> set[str]:
    """Return the direct and indirect successors of types that are not in the file and stay, because they are
    used."""
    successors = {name: str(getattr(row, "successor_id")) for name, row in gone.items()}  # noqa: B009
    found: set[str] = set()
    waiting = [successors[name] for name in gone if there.used_by("types", name)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [successors[name]] if name in successors else []
    return found


def _retired(section: str, name: str, row: Model, reason: str) -> Iterator[Change]:
    column = RETIRED[section]
    if not getattr(row, column):
        yield Change(section, name, Verb.RETIRE, None, (Difference(column, column, False, True),), reason)


def _order(names: Sequence[str], rows: dict[str, Model]) -> tuple[dict[str, int], bool]:
    """Return the positions that rows must get, and whether present rows change their order.

    If lists have the order of the file already, positions stay as they are. Rows that the file does not have come
    after the rows that it has.
    """
    known = [name for name in names if name in rows]
    present = [name for name in rows if name in set(names)]
    moved = known != present
    at = {name: getattr(row, "position") for name, row in rows.items()}  # noqa: B009
    wanted = dict(at)
    if moved or len(known) < len(names):
        wanted |= positions_of(names)
    last = max((wanted[name] for name in known), default=0)
    last = max(last, STEP * len(names) if len(known) < len(names) else 0)
    for name in rows.keys() - set(names):
        if wanted[name] <= last:
            wanted[name] = max(AFTER_CATALOGUE, last + STEP)
    return {name: wanted[name] for name in rows if wanted[name] != at[name]}, moved


def positions_of(names: Sequence[str]) -> dict[str, int]:
    return {name: STEP * number for number, name in enumerate(names, 1)}


# --- checks of several rows together ----------------------------------------------------------------------


def _no_check(items: Sequence[Any], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    """Check nothing: for sections whose items name no other rows."""


def _check_regions(items: Sequence[RegionItem], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    for item in items:
        row = there.rows["regions"].get(item.id)
        own = row.capabilities if isinstance(row, Region) else []  # staff may have typed some in an earlier release
        for name in item.capabilities:
            if name not in CAPABILITIES and name not in own:
                reason = f"There is no capability {name}. Use one of: {', '.join(CAPABILITIES)}."
                problems.add(f"regions.{item.id}.capabilities", reason)


def _check_types(items: Sequence[TypeItem], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    names = {item.name for item in items}
    for item in items:
        if item.successor_id == item.id:
            problems.add(f"types.{item.id}.successor", "A type cannot be its own successor.")
        elif item.successor_id is not None and item.successor_id not in names:
            problems.add(f"types.{item.id}.successor", f"The file has no type {item.successor_id}.")


def _check_kernels(items: Sequence[KernelItem], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    named = {item.name for item in items}
    for name, purpose in PLATFORM_KERNELS.items():
        if name not in named and name not in there.rows["kernels"]:
            problems.add(f"kernels.{name}", f"Add it to the file, or run `manage.py seed` first: {purpose}.")


def _check_pools(items: Sequence[PoolItem], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    regions = _regions(catalogue, there)
    networks = []
    for item in items:
        _check_region(f"pools.{item.network}.region", item.region_id, regions, problems)
        pool, wrong = AddressPool(**item.stated()), Problems()
        network = check_shape(pool, wrong)
        for problem in wrong:
            problems.add(f"pools.{item.network}.{problem.field}", problem.reason)
        if network is not None:
            networks.append(network)
    for position, one in enumerate(networks):
        for other in networks[:position]:
            if one.version == other.version and one.overlaps(other):
                problems.add(f"pools.{one}.network", f"It overlaps {other}.")


def _check_hosts(items: Sequence[HostItem], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    regions, drivers = _regions(catalogue, there), defaultdict(set)
    named = {item.label for item in items}
    for host in there.rows["hosts"].values():
        if isinstance(host, Host) and host.label not in named:
            drivers[host.region_id].add(host.driver)
    for item in items:
        where, row = f"hosts.{item.label}", there.rows["hosts"].get(item.label)
        _check_region(f"{where}.region", item.region_id, regions, problems)
        if isinstance(row, Host):
            for name in RESOURCES:
                used = getattr(row, f"{name}_used")
                if getattr(item, name) < used:
                    problems.add(f"{where}.{name}", f"Computes use {used} of it.")
            drivers[row.region_id].add(row.driver)
        elif item.driver not in (SIMULATED,):
            problems.add(where, _unknown_host(item))
        else:
            drivers[item.region_id].add(item.driver)
            if len(drivers[item.region_id]) > 1:
                other = ", ".join(sorted(drivers[item.region_id] - {item.driver}))
                problems.add(f"{where}.driver", f"The hosts of a region have one driver, and others have {other}.")


def _check_prices(items: Sequence[PriceItem], catalogue: Catalogue, there: Present, problems: Problems) -> None:
    for item in items:
        where = f"prices.{item.id}.price"
        if item.id == ResourcePrice.Kind.TRANSFER:
            for name in ("hourly", "monthly"):
                if getattr(item, name):
                    problems.add(f"{where}.{name}", "Transfer has no price for a time, only `each`.")
        else:
            if item.each:
                problems.add(f"{where}.each", "Only transfer has a price for each GB.")
            if item.monthly is not None and not item.hourly:
                problems.add(f"{where}.monthly", "It limits the hourly price of a month, and there is none.")


def _unknown_host(item: HostItem) -> str:
    if isinstance(item.driver, str) and item.driver not in settings.DRIVERS:
        return f"There is no driver {item.driver}: DRIVERS has {', '.join(sorted(settings.DRIVERS))}."
    return (
        "The host does not exist. Add it with `manage.py host_add`. A file can only add hosts with "
        "`driver: simulated`."
    )


def _regions(catalogue: Catalogue, there: Present) -> set[str]:
    return {*there.rows["regions"], *(item.name for item in catalogue.get("regions", []))}


def _check_region(where: str, name: str, regions: set[str], problems: Problems) -> None:
    if name not in regions:
        problems.add(where, f"There is no region {name}.")


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


_CHECKS: dict[str, Any] = {
    "regions": _check_regions, "types": _check_types, "kernels": _check_kernels, "pools": _check_pools,
    "hosts": _check_hosts, "prices": _check_prices,
}  # fmt: skip
