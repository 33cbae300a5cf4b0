"""SQL that is written by hand is in git as it runs, so that a change shows as a diff.

``make test ARGS="tests/sql --write-baselines"`` writes `statements.sql` anew.
"""

import ast
from pathlib import Path

from tests.baselines import compared_with
from tests.sql import statements

STATEMENTS = Path(__file__).with_name("statements.sql")


def test_the_statements_are_those_written_down(write_baselines):
    compared_with(STATEMENTS, statements.snapshot(), write_baselines)


def test_no_place_runs_sql_that_is_not_written_down():
    assert statements.unknown(statements.calls()) == [], "name it in tests/sql/statements.py"


def test_a_place_that_runs_unknown_sql_is_named():
    tree = ast.parse("def load(sql):\n    cursor.execute(sql)\n    cursor.execute('SELECT 1')\n    fetch(made())")
    found = list(statements.calls_in(tree, "compute.somewhere"))
    assert [call.text for call in found] == [None, "SELECT 1", None]
    assert statements.unknown(found) == ["compute.somewhere.load runs sql", "compute.somewhere.load runs made()"]


def test_statements_listed_as_passed_on_exist():
    there = {(call.function, ast.unparse(call.argument)) for call in statements.calls()}
    assert set(statements.PASSED.items()) <= there
    assert all(statements.constant(name) for name in statements.FILES)
