"""PostgreSQL's plan for a statement: the tables that it reads by an index or row by row."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from django.db import connection

PLANNED = {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}
"""The first words of statements that have a plan."""

COSTS = "; ".join(
    f"SET {name} = {value}"
    for name, value in {
        "random_page_cost": 4, "seq_page_cost": 1, "cpu_tuple_cost": 0.01, "effective_cache_size": "'4GB'",
        "work_mem": "'4MB'", "jit": "off", "max_parallel_workers_per_gather": 0,
    }.items()
)  # fmt: skip
"""PostgreSQL's default costs, whatever the settings of this server are."""


def statements_of(run: Callable[[], object]) -> list[tuple[str, Any]]:
    """Run `run`, and return its statements that read or write rows, with their parameters."""
    sent: list[tuple[str, Any]] = []

    def note(execute, sql, params, many, context):
        if sql.split(None, 1)[0].upper() in PLANNED:
            sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        run()
    return sent


def reads(sql: str, params: Any) -> list[str]:
    """Return the index by which the statement reads each table, sorted.

    The shapes of plans differ between versions of PostgreSQL. The indexes do not. If several indexes have the
    same columns, as Django makes them for texts, any may be used. Such an index is named by its columns.
    """
    connection.connection.execute(COSTS)
    explained = "EXPLAIN (FORMAT JSON, COSTS OFF) " + psycopg.ClientCursor(connection.connection).mogrify(
        sql, params
    )
    [(plan,)] = connection.connection.execute(explained).fetchall()
    [top] = plan if isinstance(plan, list) else json.loads(plan)
    alike = _alike()
    return sorted({f"{table}: {alike.get(index, index)}" for table, index in _reads(top["Plan"])})


ALIKE = """
SELECT i.relname, string_agg(a.attname, ', ' ORDER BY a.attnum)
  FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_attribute a ON a.attrelid = i.oid
 WHERE x.indpred IS NULL AND EXISTS (
    SELECT FROM pg_index o
     WHERE o.indrelid = x.indrelid AND o.indkey::text = x.indkey::text AND o.indpred IS NULL
       AND o.indexrelid <> x.indexrelid)
 GROUP BY i.relname
"""


def _alike() -> dict[str, str]:
    """Return the indexes that have the same columns as another one, by name, with these columns."""
    return {name: f"({columns})" for name, columns in connection.connection.execute(ALIKE)}


def _reads(node: dict[str, Any], table: str = "") -> Iterator[tuple[str, str]]:
    kind = node["Node Type"]
    table = node.get("Relation Name", table) if kind.endswith("Scan") else ""
    if "Index Name" in node:
        yield table, node["Index Name"]
    elif kind == "Seq Scan":
        yield table, "all rows"
    for inner in node.get("Plans", ()):
        yield from _reads(inner, table)
