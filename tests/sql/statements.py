"""All SQL that is written by hand in production, found in the source by the functions that run it.

Statements of the ORM, and those that config/db compiles from querysets, are not included. The functions of the
simulated hypervisor are not included either: they are files of SQL already.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from compute.services.hosts import free_capacity, placement
from compute.services.instances import lookups, offers

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "compute", "config", "managed", "regions", "tags")
RUNS = {"execute", "executemany", "raw", "fetch", "fetch_ordinarily", "_call"}
"""The names of functions whose first argument is a statement."""
STATEMENT = re.compile(
    r"\s*(WITH|SELECT|INSERT INTO|UPDATE|DELETE FROM|LOCK TABLE|SET|CREATE|COMMENT ON)\s", re.IGNORECASE
)

BUILT = {
    "compute.services.hosts.placement._statement": {
        "of the freest host": lambda: placement._statement(placement._ANSWERS, placement._FREEST, "SKIP LOCKED"),
        "with hosts that others have locked": lambda: placement._statement(placement._ANSWERS, "id", ""),
        "with hosts that do not answer": lambda: placement._statement(placement._ANY, "id", ""),
    },
    "compute.services.hosts.free_capacity._full_regions": {"": free_capacity._full_regions},
    "compute.services.hosts.free_capacity._full_types": {"": free_capacity._full_types},
    "compute.services.instances.lookups._statement": {
        "for the unrestricted": lambda: lookups._statement(False),
        "for the restricted": lambda: lookups._statement(True),
    },
    "compute.services.instances.offers._rooms": {"": offers._rooms},
    "compute.services.instances.offers._taken": {"": offers._taken},
}
"""Statements that functions build from templates and from the models' columns."""
FILES = {"compute.drivers.simulated.session.SCHEMA"}
"""Constants that are read from files of SQL."""
PASSED = {
    "accounts.authentication._find": "sql",
    "compute.drivers.simulated.driver.SimulatedDriver._call": "query",
    "compute.drivers.simulated.session.Session._rows": "query",
    "compute.jobs.store.job_ids": "sql",
    "compute.jobs.store.one_job": "sql",
    "compute.services.hosts.free_capacity._found": "statement",
    "compute.services.networking.addresses._take": "statement",
    "compute.services.stats.sampling._average": "statement",
    "compute.services.usage.reports._rows": "statement",
    "config.db.inserts._fetched": "statement",
    "config.db.timing._wrapper": "sql",
    "config.db.inserts._fetched_raw": "statement",
    "config.db.prepared.Link.fetch": "sql",
    "config.db.prepared.fetch": "sql",
    "config.db.prepared.fetch.run": "sql",
    "config.db.prepared._through_cursor": "sql",
    "config.db.statements.Statement.run": "self.sql",
}
"""Functions that run an argument: a constant of the module, or a statement of the ORM."""


@dataclass(frozen=True)
class Call:
    """A place that runs SQL: the function that contains it, and the source of its argument."""

    function: str
    argument: ast.expr

    @property
    def text(self) -> str | None:
        """The statement, if it is written in the call. In an f-string, names stand for the inserted values."""
        if isinstance(self.argument, ast.Constant):
            return str(self.argument.value)
        if isinstance(self.argument, ast.JoinedStr):
            parts = self.argument.values
            return "".join(str(p.value) if isinstance(p, ast.Constant) else _braced(p) for p in parts)
        return None


def _braced(part: ast.expr) -> str:
    assert isinstance(part, ast.FormattedValue)
    return f"{{{ast.unparse(part.value)}}}"


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Return all modules of production except migrations, by name, with their syntax tree."""
    paths = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
    return tuple((_module_name(path), ast.parse(path.read_text())) for path in paths)


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def calls() -> Iterator[Call]:
    """Yield every place that runs SQL."""
    for name, tree in modules():
        yield from calls_in(tree, name)


def calls_in(node: ast.AST, place: str) -> Iterator[Call]:
    """Yield the calls within a node, which is a module or the part of it that `place` names."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if isinstance(child, ast.Call) and child.args and _runs(child.func):
            yield Call(place, child.args[0])
        yield from calls_in(child, f"{place}.{child.name}" if named else place)  # type: ignore[attr-defined]


def _runs(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name in RUNS


def constants() -> dict[str, str]:
    """Return the statements that are constants of modules."""
    return {
        f"{name}.{target}": value
        for name, tree in modules()
        for target in _assigned(tree)
        if isinstance(value := getattr(_imported(name), target, None), str) and STATEMENT.match(value)
    }


def _assigned(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                yield target.id


def constant(name: str) -> str:
    """Return a constant, by the name of its module and its own."""
    module, _, target = name.rpartition(".")
    return getattr(_imported(module), target)


@cache
def _imported(name: str) -> ModuleType:
    return import_module(name)


def snapshot() -> list[str]:
    """Return every statement under the name of its place, in order."""
    found = {name: text for name, text in constants().items() if name not in FILES}
    for function, variants in BUILT.items():
        found |= {f"{function} {variant}".strip(): make() for variant, make in variants.items()}
    numbers: dict[str, int] = {}
    for call in calls():
        if call.text is not None:
            numbers[call.function] = number = numbers.get(call.function, 0) + 1
            found[call.function if number == 1 else f"{call.function} ({number})"] = call.text
    lines: list[str] = []
    for name in sorted(found):
        lines += [f"-- {name}", *textwrap.dedent(found[name]).strip("\n").splitlines(), ""]
    return [line.rstrip() for line in lines][:-1]


def unknown(places: Iterable[Call]) -> list[str]:
    """Return the places whose statement the snapshot lacks: no text, no constant statement, and not in
    `PASSED`."""
    known = {name.rpartition(".")[2] for name in (*constants(), *FILES)}
    return [
        f"{call.function} runs {ast.unparse(call.argument)}"
        for call in places
        if call.text is None
        and ast.unparse(call.argument) not in known
        and PASSED.get(call.function) != ast.unparse(call.argument)
        and not _is_built(call)
    ]


def _is_built(call: Call) -> bool:
    made = call.argument.func if isinstance(call.argument, ast.Call) else None
    return isinstance(made, ast.Name) and f"{call.function.rpartition('.')[0]}.{made.id}" in BUILT
