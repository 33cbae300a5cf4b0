"""Plans as readable text."""

from collections.abc import Iterator
from typing import Any

from compute.services.catalogue.planning import Change, Difference, Plan, Verb
from compute.services.catalogue.schema import SECTIONS
from compute.services.catalogue.values import written

SIGNS = {Verb.ADD: "+", Verb.CHANGE: "~", Verb.RETIRE: "-", Verb.REMOVE: "-"}
COUNT_WORDS = {Verb.ADD: "to add", Verb.CHANGE: "to change", Verb.RETIRE: "to retire", Verb.REMOVE: "to remove"}
NOTHING = "Nothing to change."


def lines(plan: Plan) -> Iterator[str]:
    """Yield the plan by sections, a line for each change, and their number at the end."""
    for section in SECTIONS:
        changes = [change for change in plan.changes if change.section == section]
        order = plan.orders.get(section)
        moved = plan.positions.get(section)
        if changes or moved:
            yield section
        for change in changes:
            yield f"  {SIGNS[change.verb]} {change.name}{_describe(change)}"
        if order:
            yield f"  ~ order: {', '.join(order)}"
        elif moved:
            yield f"  ~ positions of {len(moved)}"
    if plan:
        counts = ", ".join(f"{plan.count(verb)} {word}" for verb, word in COUNT_WORDS.items())
        yield f"Plan: {counts}."
    else:
        yield NOTHING


def sentence(change: Change) -> str:
    """Return a change as a sentence for the log of staff's actions."""
    return f"catalogue: {change.verb}{_describe(change)}"


def _describe(change: Change) -> str:
    if change.verb == Verb.ADD:
        return ""
    if change.verb == Verb.REMOVE:
        return ": removed, now free" if change.section == "prices" else ": removed"
    differences = "; ".join(text for each in change.differences for text in _difference(each))
    if change.verb == Verb.RETIRE:
        return f": {differences}, it is not in the file{f' ({change.reason})' if change.reason else ''}"
    return f": {differences}"


def _difference(found: Difference) -> Iterator[str]:
    """Yield a difference as text. Of an object such as limits, yield each key that differs."""
    if not isinstance(found.before, dict):
        yield f"{found.path} {_value(found.before)} -> {_value(found.after)}"
        return
    for name in sorted({*found.before, *found.after}):
        before, after = found.before.get(name), found.after.get(name)
        if before != after:
            yield f"{found.path}.{name} {_value(before)} -> {_value(after)}"


def _value(value: Any) -> str:
    shown = written(value)
    if shown is None:
        return "none"
    if isinstance(shown, bool):
        return str(shown).lower()
    if isinstance(shown, list):
        return f"[{', '.join(map(str, shown))}]"
    return str(shown) if not isinstance(shown, str) or (shown and " " not in shown) else repr(shown)
