"""``manage.py host_check``: check again what a host can do."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.management.hosts import describe, host_called
from compute.worker import hosts


class Command(BaseCommand):
    help = "Prepare a host with its driver, measure its capacity for instances, and save the capacity."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("label", help="label of the host")

    def handle(self, *, label: str, **options: Any) -> None:
        try:
            checked = hosts.check(host_called(label))
        except hosts.NotReady as error:
            raise CommandError(f"{label}: {error}") from error
        self.stdout.write(describe(checked), self.style.SUCCESS)
