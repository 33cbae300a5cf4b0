"""``manage.py seed``: add the catalogue and scripts; with ``--demo`` also regions, hosts and address pools."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from compute.services.seed import own_sections, seed
from compute.services.usage.repricing import reprice


class Command(BaseCommand):
    help = (
        "Add the missing types, kernels, images, scripts and prices. Existing rows are not changed, and deleted "
        "rows are not added again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--update", action="store_true", help="also reset existing rows to the values of the catalogue"
        )
        parser.add_argument(
            "--demo",
            action="store_true",
            help="also add regions with simulated hosts, and addresses that are not routed",
        )

    def handle(
        self, *args: Any, update: bool = False, demo: bool = False, verbosity: int = 1, **options: Any
    ) -> None:
        added = {table: count for table, count in seed(update, demo).items() if count}
        reprice()
        if verbosity:
            for table, count in added.items():
                self.stdout.write(f"{count} {table}")
            if not added:
                self.stdout.write("nothing to add")
            if own := sorted(own_sections()):
                self.stdout.write(f"not changed, because a catalogue file manages them: {', '.join(own)}")
