"""``manage.py migrate``: Django's command, faster for an empty database, and able to report its progress."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from config.admin import roles
from config.db.advisory import advisory_lock
from config.db.fresh_database import create_tables
from config.display.plurals import counted

# Options that request something else than all migrations of all apps.
PARTIAL = ("app_label", "migration_name", "plan", "check_unapplied", "fake", "fake_initial", "prune")

# Any number, if nothing else in the database takes this advisory lock.
ADVISORY_LOCK = 0x6D696772617465
SECONDS = 0.2
"""Seconds between two attempts to take the lock."""


class Command(migrate.Command):
    """Calls `report` with the number of applied migrations, and of all migrations.

    At the end, it syncs the staff roles.
    """

    def __init__(self, *args: Any, report: Callable[[int, int], None] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.report = report
        self.applied = self.total = 0

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--one-by-one",
            action="store_true",
            help="Run the migrations one by one, also on an empty database. The resulting tables are the same.",
        )

    def handle(self, *args: Any, one_by_one: bool = False, **options: Any) -> None:
        connection = connections[options["database"]]
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        with one_at_a_time(connection):
            self._migrate(connection, *args, one_by_one=one_by_one, **options)

    def _migrate(self, connection: BaseDatabaseWrapper, *args: Any, one_by_one: bool, **options: Any) -> None:
        whole = not any(options[name] for name in PARTIAL)
        if not one_by_one and whole:
            created = create_tables(connection)
            if created and options["verbosity"] >= 1:
                self.stdout.write(
                    f"The database was empty: tables of {counted(created, 'migration')} created at once."
                )
        if self.report:
            self._count(MigrationExecutor(connection))
        super().handle(*args, **options)
        if whole and connection.alias == DEFAULT_DB_ALIAS:
            roles.sync()

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        super().migration_progress_callback(action, migration, fake)
        if self.report and action == "apply_success":
            self.applied += 1
            self.report(self.applied, self.total)

    def _count(self, executor: MigrationExecutor) -> None:
        pending = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        self.total = len(executor.loader.graph.nodes)
        self.applied = self.total - pending
        if self.report:
            self.report(self.applied, self.total)


@contextmanager
def one_at_a_time(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait until no other process migrates the database, and lock it for the length of the block.

    Django's migrations, and the steps after them (content types, permissions), fail if another process runs them
    too.
    """
    with advisory_lock(connection, ADVISORY_LOCK) as take:
        while not take():
            time.sleep(SECONDS)
        yield
