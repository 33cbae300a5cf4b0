"""Which tables' rows each transaction locks, and in what order: read off the statements while they run."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

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
    """Rows of the table `after` were asked for while rows of `before` were locked."""

    before: str
    after: str


@cache
def touched(sql: str) -> tuple[tuple[str, str], ...]:
    """What a statement does to rows, in the order it says so, each with the table.

    ``lock`` is a ``SELECT … FOR``, ``try`` one that skips what others have locked, so that it waits for nobody;
    ``write`` changes or deletes rows, ``insert`` makes new ones.
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
        if table in _tables() and not (verb == "write" and table in skipped)  # written is what it locked by trying
    )


def _sources(sql: str, end: int) -> dict[str, str]:
    """The tables that the select reads whose locking clause stands at `end`, by the names they have in it."""
    depth, start = 0, end
    flat: list[str] = []  # without what stands in parentheses
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


class Recorder:
    """Notes the edges of every transaction.

    A transaction is the outermost atomic block that no test opened. A table's rows count as locked from the first
    of them on; a statement that finds no rows locks none, and the rows that a transaction inserts itself are its
    own: nobody waits for them.
    """

    def __init__(self) -> None:
        self.during = ""
        """What the test does at the moment, for its messages."""
        self.gates: dict[Edge, frozenset[str]] = {}
        """The tables of which rows were locked before both, every time."""
        self.seen: dict[Edge, str] = {}
        """`during` what an edge was first seen."""
        self._locked: dict[str, None] = {}
        self._own: set[str] = set()
        self._blocks: list[bool] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if any(self._blocks) and context["cursor"].rowcount:
            for verb, table in touched(sql):
                self._note(verb, table)
        return result

    def _note(self, verb: str, table: str) -> None:
        if verb == "insert":
            self._own.add(table)
        if verb == "insert" or table in self._locked or (verb == "write" and table in self._own):
            return
        for before in self._locked if verb != "try" else ():
            edge, gates = Edge(before, table), frozenset(self._locked) - {before}
            self.gates[edge] = self.gates.get(edge, gates) & gates
            self.seen.setdefault(edge, self.during)
        self._locked[table] = None

    def enter(self, by_a_test: bool) -> None:
        self._blocks.append(not by_a_test)

    def leave(self) -> None:
        self._blocks.pop()
        if not any(self._blocks):
            self._locked, self._own = {}, set()


@contextmanager
def recorded() -> Iterator[Recorder]:
    """Record what this connection does meanwhile."""
    recorder = Recorder()
    enter, leave = Atomic.__enter__, Atomic.__exit__

    def entered(block: Atomic) -> None:
        recorder.enter(sys._getframe(1).f_code.co_filename.startswith(TESTS))
        enter(block)

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
