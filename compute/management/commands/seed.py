"""``manage.py seed``: add the catalogue and scripts; with ``--demo`` also regions, hosts and address pools."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from compute.services.seed import own_sections, seed


class Command(BaseCommand):
    help = (
        "Add the types, kernels, images and scripts that are missing. What exists stays as it is, and what was "
        "deleted stays deleted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--update", action="store_true", help="also reset what exists of the catalogue to its values"
        )
        parser.add_argument(
            "--demo", action="store_true", help="also regions, with made-up hosts and addresses that lead nowhere"
        )

    def handle(
        self, *args: Any, update: bool = False, demo: bool = False, verbosity: int = 1, **options: Any
    ) -> None:
        added = {table: count for table, count in seed(update, demo).items() if count}
        if verbosity:
            for table, count in added.items():
                self.stdout.write(f"{count} {table}")
            if not added:
                self.stdout.write("nothing to add")
            if own := sorted(own_sections()):
                self.stdout.write(f"left alone, since a catalogue file has them: {', '.join(own)}")
