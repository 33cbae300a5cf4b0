"""An empty database gets all its tables at once, and they equal those that the migrations make one by one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import (
    AlterModelOptions,
    AlterModelTable,
    Migration,
    RunPython,
    RunSQL,
    SeparateDatabaseAndState,
)
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.db.fresh_database import at_once, create_tables, leaves
from config.management.commands.migrate import Command
from tests.databases import another_database

COLUMNS = """
SELECT c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       a.attidentity::text, a.attcollation::regcollation::text, pg_get_expr(d.adbin, d.adrelid)
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'S') ORDER BY c.relname, a.attname
"""
# Names that no model declares are Django's or PostgreSQL's defaults. Renamed tables keep those of the old name.
CONSTRAINTS = """
SELECT conrelid::regclass::text, CASE WHEN conname = ANY (%(declared)s) THEN conname END,
       pg_get_constraintdef(oid), condeferrable, condeferred
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2, 3
"""
INDEXES = """
SELECT tablename, CASE WHEN indexname = ANY (%(declared)s) THEN indexname END,
       replace(indexdef, 'INDEX ' || indexname, 'INDEX')
  FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2, 3
"""
SEQUENCES = """
SELECT d.refobjid::regclass::text, a.attname, format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqcycle
  FROM pg_sequence s
  JOIN pg_depend d ON d.objid = s.seqrelid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid ORDER BY 1, 2
"""
TRIGGERS = (
    "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2"
)
FUNCTIONS = """
SELECT oid::regprocedure::text, pg_get_functiondef(oid) FROM pg_proc
 WHERE pronamespace = 'public'::regnamespace AND prokind IN ('f', 'p') ORDER BY 1, 2
"""
MIGRATIONS = "SELECT app, name FROM django_migrations ORDER BY 1, 2"
CONTENT_TYPES = "SELECT app_label, model FROM django_content_type ORDER BY 1, 2"
PERMISSIONS = """
SELECT t.app_label, t.model, p.codename, p.name
  FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id ORDER BY 1, 2, 3
"""
EVERYTHING = (COLUMNS, CONSTRAINTS, INDEXES, SEQUENCES, TRIGGERS, FUNCTIONS, MIGRATIONS, CONTENT_TYPES, PERMISSIONS)


@pytest.fixture
def empty_database(django_db_setup, django_db_blocker) -> Iterator[None]:
    """Connect the default connection to a database without tables."""
    with django_db_blocker.unblock(), another_database():
        yield


def migrate(**options) -> None:
    call_command("migrate", verbosity=0, interactive=False, **options)


def rows(query: str) -> list[tuple]:
    metas = [model._meta for model in apps.get_models()]
    declared = [each.name for meta in metas for each in (*meta.constraints, *meta.indexes)]
    with connection.cursor() as cursor:
        cursor.execute(query, {"declared": declared})
        return cursor.fetchall()


@pytest.mark.upgrade
def test_the_tables_are_those_that_the_migrations_make_one_by_one(empty_database):
    migrate(one_by_one=True)
    one_by_one = [rows(query) for query in EVERYTHING]
    with another_database():
        migrate()
        for query, expected in zip(EVERYTHING, one_by_one, strict=True):
            assert rows(query) == expected
        call_command("migrate", check_unapplied=True, verbosity=0)
        call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


def test_a_simultaneous_migration_waits_for_the_first(empty_database):
    def run() -> None:
        try:
            migrate()
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as threads:
        for each in [threads.submit(run) for _ in range(3)]:
            each.result()
    assert len(rows(MIGRATIONS)) == len(MigrationLoader(None).graph.nodes)


def test_no_migration_is_left_for_later():
    """Each one slows every start on an empty database. Allow one here that creates rows, or SQL of no model."""
    loader = MigrationLoader(None)
    assert set(at_once(loader)) == set(loader.graph.nodes), (
        "elidable=True, or in ROWS_ONLY, if it rewrites rows only"
    )


def test_a_migration_that_does_more_is_applied_by_itself_with_all_that_depend_on_it(empty_database, monkeypatch):
    plain = Migration.__init__

    def with_statement(self, name, app_label):
        plain(self, name, app_label)
        if (app_label, name) == ("tags", "0001_initial"):
            self.operations.append(RunSQL("CREATE TABLE extra ()"))

    monkeypatch.setattr(Migration, "__init__", with_statement)
    reported = []
    loader = MigrationLoader(connection)
    early = at_once(loader)
    assert {app for app, _ in early} >= {"accounts", "compute", "oauth2_provider"}
    assert "tags" not in {app for app, _ in early}

    call_command(Command(report=lambda *counts: reported.append(counts)), verbosity=0, interactive=False)
    assert "extra" in connection.introspection.table_names()
    assert set(rows(MIGRATIONS)) == set(loader.graph.nodes)
    total = len(loader.graph.nodes)
    assert reported == [(count, total) for count in range(len(early), total + 1)]


@pytest.mark.parametrize("rewrite", [partial(RunPython, RunPython.noop), partial(RunSQL, "SELECT")])
def test_only_elidable_operations_on_rows_are_left_out(rewrite):
    loader = MigrationLoader(None)
    region, host = ("regions", "0001_initial"), ("compute", "0001_initial")
    loader.graph.nodes[region].operations.append(rewrite(elidable=True))
    assert {region, host} <= set(at_once(loader))
    loader.graph.nodes[region].operations.append(rewrite())
    assert not {region, host} & set(at_once(loader))


def test_sql_for_tables_in_use_is_left_out_if_the_state_has_its_result():
    loader = MigrationLoader(None)
    region, host = ("regions", "0001_initial"), ("compute", "0001_initial")
    moved = AlterModelTable("region", "places")
    for sql, state, left_out in (
        (RunSQL("SELECT", elidable=True), AlterModelOptions("region", {}), True),
        (RunSQL("SELECT"), AlterModelOptions("region", {}), False),
        (RunSQL("SELECT", elidable=True), moved, False),
    ):
        apart = SeparateDatabaseAndState(database_operations=[sql], state_operations=[state])
        loader.graph.nodes[region].operations.append(apart)
        assert ({region, host} <= set(at_once(loader))) == left_out
        loader.graph.nodes[region].operations.pop()


def test_the_state_is_that_of_all_of_them():
    loader = MigrationLoader(None)
    keys = at_once(loader)
    assert len(keys) == len(set(keys))
    ends = leaves(loader.graph, keys)
    assert set(keys) == {key for end in ends for key in loader.graph.forwards_plan(end)}


def test_a_database_that_holds_anything_of_ours_is_left_to_the_migrations(empty_database):
    migrate(app_label="regions")
    before = rows(MIGRATIONS)
    assert create_tables(connection) == 0
    assert rows(MIGRATIONS) == before


def test_tables_without_migrations_are_not_taken_for_ours(empty_database):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE regions_region (id int)")
    assert create_tables(connection) == 0
    assert MigrationRecorder(connection).applied_migrations() == {}


def test_tables_of_others_are_no_obstacle_and_stay(empty_database):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE somebodys (id int)")
    assert create_tables(connection) > 0
    assert "somebodys" in connection.introspection.table_names()


def test_conflicting_migrations_are_named_before_anything_is_created(empty_database, monkeypatch):
    monkeypatch.setattr(MigrationLoader, "detect_conflicts", lambda loader: {"tags": ["0002_one", "0002_other"]})
    with pytest.raises(CommandError, match="0002_one, 0002_other in tags"):
        migrate()
    assert connection.introspection.table_names() == []
