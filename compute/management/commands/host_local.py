"""``manage.py host_local``: add this machine as a host of real machines, without root and without a daemon."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from compute.management.hosts import describe
from compute.worker.hosts import NotReady
from compute.worker.this_machine import add_this_machine, check_programs
from config.errors import DomainError
from config.processes.command_errors import refused


class Command(BaseCommand):
    help = (
        "Add this machine as the host of a new region, `local`, with real instances. QEMU runs as the user of the "
        "workers. Instances reach the internet, and ports of 127.0.0.1 are forwarded to them. The command can be "
        "repeated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--programs",
            action="store_true",
            help="only list the programs that this machine lacks, and change nothing",
        )

    def handle(self, *, programs: bool = False, verbosity: int = 1, **options: Any) -> None:
        try:
            check_programs()
            if programs:
                return
            checked = add_this_machine(Path(settings.HYPERVISOR_DIR))
        except NotReady as error:
            raise CommandError(str(error)) from error
        except DomainError as error:
            raise refused(error) from error
        if verbosity:
            self.stdout.write(describe(checked), self.style.SUCCESS)
