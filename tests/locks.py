"""Record the tables whose rows each transaction locks, and their order, from the executed statements."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.apps import apps
from django.db import connection
from django.db.transaction import Atomic

TESTS = str(Path(__file__).resolve().parent)

NAME = r'"?(\w+)"?'
STATEMENT = re.compile(
    r"""(?P<locking>FOR\ (?:NO\ KEY\ UPDATE|UPDATE|SHARE|KEY\ SHARE)(?:\s+OF\s+"?(?P<of>\w+)"?)?
                    (?P<trying>\s+SKIP\ LOCKED)?)
       | (?P<conflict>ON\ CONFLICT\ .*?DO\ UPDATE)
       | UPDATE\s+"?(?P<updated>\w+)"?
       | DELETE\ FROM\s+"?(?P<deleted>\w+)"?
       | INSERT\ INTO\s+"?(?P<into>\w+)"?""",
    re.VERBOSE | re.DOTALL,
)
SOURCE = re.compile(rf"\b(?:FROM|JOIN)\s+{NAME}(?:\s+(?:AS\s+)?(?!ON\b|WHERE\b|JOIN\b|LEFT\b|INNER\b){NAME})?")


@dataclass(frozen=True)
class Edge:
    """Rows of the table `after` were requested while rows of `before` were locked."""

    before: str
    after: str


@cache
def touched(sql: str) -> tuple[tuple[str, str], ...]:
    """Return a statement's effects on rows, in its order, each with the table.

    ``lock`` is a ``SELECT … FOR``. ``try`` is one that skips locked rows, so it waits for no lock. ``write``
    changes or deletes rows, ``insert`` adds rows.
    """
    found: list[tuple[str, str]] = []
    for match in STATEMENT.finditer(sql):
        if match["locking"]:
            sources = _sources(sql, match.start())
            verb = "try" if match["trying"] else "lock"
            found += [(verb, table) for name, table in sources.items() if match["of"] in (None, name)]
        elif match["into"]:
            found.append(("insert", match["into"]))
        elif match["conflict"]:
            found.append(("write", found[-1][1]))
        else:
            found.append(("write", match["updated"] or match["deleted"]))
    skipped = {table for verb, table in found if verb == "try"}
    return tuple(
        (verb, table)
        for verb, table in found
        if table in _tables() and not (verb == "write" and table in skipped)  # it writes rows locked by `try`
    )


@cache
def joined(sql: str) -> frozenset[str]:
    """Return the tables that a locking statement joins to those whose rows it locks. Empty if it waits for no
    lock.

    Once the lock is free, PostgreSQL compares the new version of the locked row with old versions of the joined
    rows.
    """
    for match in STATEMENT.finditer(sql):
        if match["locking"] and not match["trying"] and len(sources := _sources(sql, match.start())) > 1:
            return frozenset(sources.values())
    return frozenset()


def _sources(sql: str, end: int) -> dict[str, str]:
    """Return the tables of the select whose locking clause is at `end`, by their names in the select."""
    depth, start = 0, end
    flat: list[str] = []  # without text in parentheses
    while start > 0 and depth >= 0:
        start -= 1
        depth += (sql[start] == ")") - (sql[start] == "(")
        if depth == 0 and sql[start] != "(":
            flat.append(sql[start])
    select = "".join(reversed(flat))
    return {alias or table: table for table, alias in SOURCE.findall(select)}


@cache
def _tables() -> frozenset[str]:
    return frozenset(connection.introspection.django_table_names())


@cache
def _keys() -> dict[str, str]:
    """Return the column of each table's primary key."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table: model._meta.pk.column for model in models if model._meta.pk is not None}


class Recorder:
    """A recorder of the edges of every transaction, row by row.

    A transaction is the outermost atomic block that no test opened. Nobody waits for rows that a transaction
    inserts itself. PostgreSQL shows which rows a statement has changed: their transaction number is not older
    than this one.
    """

    def __init__(self) -> None:
        self.during = ""
        """The present action of the test, for messages."""
        self.gates: dict[tuple[Edge, frozenset[str]], str] = {}
        """`during` at the first occurrence of an edge, with the tables whose rows were locked before both."""
        self.unordered: dict[tuple[str, frozenset[str]], str] = {}
        """`during` when rows of a table were locked in another order than that of their keys, with the gates."""
        self._locked: dict[str, set[Any]] = {}
        self._own: dict[str, set[Any]] = {}
        self._blocks: list[bool] = []
        self._begin = 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not any(self._blocks):
            return execute(sql, params, many, context)
        chosen = {table: _chosen(sql, params, table) for verb, table in touched(sql) if verb in ("lock", "try")}
        doomed = {table: _rows(table) for table in _deleted_from(sql)}
        result = execute(sql, params, many, context)
        if context["cursor"].rowcount:
            for verb, table in touched(sql):
                rows = chosen.get(table)
                if rows is None:
                    rows = sorted(self._changed(table) | (doomed.get(table, set()) - _rows(table)))
                self._note(verb, table, rows)
        return result

    def _note(self, verb: str, table: str, rows: list[Any]) -> None:
        known = self._locked.get(table, set()) | self._own.get(table, set())
        new = [row for row in rows if row not in known]
        if not new:
            return
        if verb == "insert":
            self._own.setdefault(table, set()).update(new)
            return
        if verb != "try":
            for before in self._locked.keys() - {table}:
                self._note_edge(Edge(before, table))
            self._note_order(verb, table, new)
        self._locked.setdefault(table, set()).update(new)

    def _note_edge(self, edge: Edge) -> None:
        self.gates.setdefault((edge, frozenset(self._locked) - {edge.before}), self.during)

    def _note_order(self, verb: str, table: str, new: list[Any]) -> None:
        """Record rows that were locked in no order, or after a row with a higher key."""
        late = min(new) < max(self._locked.get(table) or new[:1])
        if late or new != sorted(new) or (verb == "write" and len(new) > 1):
            self.unordered.setdefault((table, frozenset(self._locked) - {table}), self.during)

    def _changed(self, table: str) -> set[Any]:
        """Return the keys of the rows that this transaction has inserted or changed, and of some that it has
        locked."""
        return _rows(table, f"xmin::text::bigint >= {self._begin} OR xmax::text::bigint >= {self._begin}")

    def enter(self, by_a_test: bool) -> None:
        self._blocks.append(not by_a_test)

    def begun(self) -> None:
        """Record the number of the transaction or savepoint that has just begun, if it is the outermost."""
        if self._blocks.count(True) == 1 and self._blocks[-1]:
            ((self._begin,),) = _ask("INSERT INTO lock_marks VALUES (1) RETURNING xmin::text::bigint")

    def leave(self) -> None:
        self._blocks.pop()
        if not any(self._blocks):
            self._locked, self._own = {}, {}


def _ask(sql: str, params: Any = None) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that is not recorded."""
    with connection.connection.cursor() as cursor:
        return cursor.execute(sql, params).fetchall()


def _rows(table: str, condition: str = "true") -> set[Any]:
    return {row[0] for row in _ask(f'SELECT "{_keys()[table]}" FROM "{table}" WHERE {condition}')}


def _chosen(sql: str, params: Any, table: str) -> list[Any] | None:
    """Return the keys of the rows that a locking select will lock, in its order. None for any other statement.

    A second lock of a row leaves no trace on it, and all transactions of a test are really one.
    """
    locking = [match for match in STATEMENT.finditer(sql) if match["locking"]][-1]
    begin = _from(sql)
    if begin is None or sql[: locking.start()].count("(") != sql[: locking.start()].count(")"):
        return None
    (name,) = [name for name, each in _sources(sql, locking.start()).items() if each == table][:1]
    select = f'SELECT {name}."{_keys()[table]}" {sql[begin : locking.start()]}'
    if isinstance(params, list | tuple):
        params = params[sql[:begin].count("%s") :]
    return [row[0] for row in _ask(select, params)]


def _from(sql: str) -> int | None:
    """Return the position of a select's FROM. None for any other statement."""
    if not sql.lstrip().upper().startswith("SELECT"):
        return None
    for match in re.finditer(r"\bFROM\b", sql):
        before = sql[: match.start()]
        if before.count("(") == before.count(")"):
            return match.start()
    return None


@cache
def _deleted_from(sql: str) -> frozenset[str]:
    return frozenset(each["deleted"] for each in STATEMENT.finditer(sql) if each["deleted"] in _tables())


@contextmanager
def recorded() -> Iterator[Recorder]:
    """Record the statements of this connection during the block."""
    recorder = Recorder()
    enter, leave = Atomic.__enter__, Atomic.__exit__
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE IF NOT EXISTS lock_marks (mark integer)")

    def entered(block: Atomic) -> None:
        recorder.enter(sys._getframe(1).f_code.co_filename.startswith(TESTS))
        enter(block)
        recorder.begun()

    def left(block: Atomic, *error: Any) -> None:
        try:
            leave(block, *error)
        finally:
            recorder.leave()

    with (
        patch.object(Atomic, "__enter__", entered),
        patch.object(Atomic, "__exit__", left),
        connection.execute_wrapper(recorder),
    ):
        yield recorder
