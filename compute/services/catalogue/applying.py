"""Applying a catalogue file: it is planned again under locks, and written as a whole or not at all."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection, transaction
from django.db.models import Model
from django.utils.timezone import now

from accounts.services.command_line import ADDED, CHANGED, DELETED, Operator, operator
from compute.models import AddressPool, Host, Image, SeededRow
from compute.services.catalogue.current_rows import Present, present, rows_of
from compute.services.catalogue.planning import Change, Plan, Verb, plan, positions_of
from compute.services.catalogue.schema import ITEMS, SECTIONS, Catalogue, Item
from compute.services.catalogue.showing import sentence
from compute.services.hosts import maintenance
from compute.services.networking import pools
from compute.services.seed import OWN_SECTION
from config.errors import Invalid, Problems

MEANWHILE = (
    "The installation changed after the plan was shown. Nothing was applied. Run the command again to see the "
    "new plan."
)


def planned(catalogue: Catalogue) -> Plan:
    """Return the plan that `apply` would carry out now. Raises `Invalid` with everything that cannot be done."""
    return _planned(catalogue, present(catalogue))


@transaction.atomic
def apply(catalogue: Catalogue, expected: Plan, by: str | None = None, reason: str = "") -> list[str]:
    """Change the rows of the file's sections to the file's values, and log each change as done by `by`, a staff
    user.

    Returns the sections that belong to the operator from now on. `seed` adds nothing to these sections any more.
    Raises `Invalid` with everything that cannot be done, or if the plan differs from the `expected` one. Then
    nothing is changed.
    """
    with connection.cursor() as cursor:  # one at a time, and none during a seed
        cursor.execute(f"LOCK TABLE {SeededRow._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
    who = operator(by, reason)
    _lock(catalogue)
    there = present(catalogue)
    found = _planned(catalogue, there)
    if found != expected:
        raise Invalid(MEANWHILE)
    done: list[tuple[Model, str, int]] = []
    for section in SECTIONS:
        changes = [change for change in found.changes if change.section == section]
        # removals come first: a new pool may have the addresses of a removed one
        done += _removed(changes, there)
        done += _added(changes, catalogue)
        done += _changed(changes, there)
        _place(section, found, there)
    who.log_all(done)
    _log_orders(found, there, who)
    return _own(catalogue)


def _planned(catalogue: Catalogue, there: Present) -> Plan:
    problems = Problems()
    found = plan(catalogue, there, problems)
    problems.raise_any()
    return found


def _lock(catalogue: Catalogue) -> None:
    """Lock the rows that the plan is about. A row that the plan finds unused stays unused until it is removed.

    Locks in the order of docs/locking.md, where hosts are last. Only rows that may be removed are locked so that no
    other row can begin to refer to them.
    """
    for section in SECTIONS:
        if section in catalogue:
            rows, item = rows_of(section), ITEMS[section]
            named = {f"{item.key}__in": [each.name for each in catalogue[section]]}
            list(rows.order_by("pk").exclude(**named).select_for_update())
            list(rows.order_by("pk").filter(**named).select_for_update(no_key=True))


def _removed(changes: Iterable[Change], there: Present) -> Iterator[tuple[Model, str, int]]:
    for change in changes:
        if change.verb == Verb.REMOVE:
            row = there.rows[change.section][change.name]
            yield row, sentence(change), DELETED
            key = row.pk
            if isinstance(row, AddressPool):
                pools.remove_pool(row)
            else:
                row.delete()
            row.pk = key  # which the log names


def _added(changes: Iterable[Change], catalogue: Catalogue) -> Iterator[tuple[Model, str, int]]:
    for change in changes:
        if change.verb == Verb.ADD and change.item is not None:
            yield _add(change.item, change, catalogue), sentence(change), ADDED


def _add(item: Item, change: Change, catalogue: Catalogue) -> Model:
    stated: dict[str, Any] = item.stated()
    closed = stated.pop("maintenance", False)
    row = item.model(**stated)
    if item.ordered:
        names = [each.name for each in catalogue[change.section]]
        row.position = positions_of(names)[change.name]  # type: ignore[attr-defined]
    if isinstance(row, AddressPool):
        pools.add_pool(row)
        return row
    if isinstance(row, Image):
        row.is_public = True
        row.created = stated.get("created") or now()
        row.updated = row.created
    row.save(force_insert=True)
    if isinstance(row, Host) and closed:
        maintenance.begin(row)
    return row


def _changed(changes: Iterable[Change], there: Present) -> Iterator[tuple[Model, str, int]]:
    for change in changes:
        if change.verb in (Verb.CHANGE, Verb.RETIRE):
            row = there.rows[change.section][change.name]
            values = {each.attribute: each.after for each in change.differences}
            if isinstance(row, Host) and "maintenance" in values:
                (maintenance.begin if values.pop("maintenance") else maintenance.end)(row)
            for name, value in values.items():
                setattr(row, name, value)
            if isinstance(row, Image) and values:
                row.updated = values["updated"] = now()
            if values:
                row.save(update_fields=list(values))
            yield row, sentence(change), CHANGED


def _place(section: str, found: Plan, there: Present) -> None:
    rows = [there.rows[section][name] for name in found.positions.get(section, ())]
    for row, position in zip(rows, found.positions.get(section, {}).values(), strict=True):
        row.position = position  # type: ignore[attr-defined]
    if rows:
        type(rows[0])._default_manager.bulk_update(rows, ["position"])


def _log_orders(found: Plan, there: Present, who: Operator) -> None:
    """Log one line for each section whose rows changed their order, at the section's first row."""
    who.log_all(
        (
            there.rows[section][next(name for name in names if name in there.rows[section])],
            "catalogue: order",
            CHANGED,
        )
        for section, names in found.orders.items()
    )


def _own(catalogue: Catalogue) -> list[str]:
    noted = set(SeededRow.objects.filter(key=OWN_SECTION).values_list("kind", flat=True))
    fresh = [section for section in SECTIONS if section in catalogue and ITEMS[section].seeded_as not in noted]
    SeededRow.objects.bulk_create(SeededRow(kind=ITEMS[section].seeded_as, key=OWN_SECTION) for section in fresh)
    return fresh


@transaction.atomic
def release(sections: Iterable[str]) -> list[str]:
    """Let `seed` add to these sections again; returns the sections that belonged to the operator."""
    return [
        section
        for section in sections
        if SeededRow.objects.filter(kind=ITEMS[section].seeded_as, key=OWN_SECTION).delete()[0]
    ]
