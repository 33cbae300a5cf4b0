"""``manage.py migrate``: Django's, which is quick where the database is empty, and can report how far it is."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from config.db.fresh_database import create_tables

# What asks for something else than all migrations of all apps, each applied.
PARTIAL = ("app_label", "migration_name", "plan", "check_unapplied", "fake", "fake_initial", "prune")


class Command(migrate.Command):
    """`report` is called with the number of migrations that are applied, and of all there are."""

    def __init__(self, *args: Any, report: Callable[[int, int], None] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.report = report
        self.applied = self.total = 0

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--one-by-one",
            action="store_true",
            help="Apply each migration even where the database is empty, which ends with the same tables.",
        )

    def handle(self, *args: Any, one_by_one: bool = False, **options: Any) -> None:
        connection = connections[options["database"]]
        if not one_by_one and not any(options[name] for name in PARTIAL):
            created = create_tables(connection)
            if created and options["verbosity"] >= 1:
                self.stdout.write(f"The database was empty: tables of {created} migrations created at once.")
        if self.report:
            self._count(MigrationExecutor(connection))
        super().handle(*args, **options)

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
