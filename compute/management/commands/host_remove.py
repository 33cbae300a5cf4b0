"""``manage.py host_remove``: a host that has no instances any more."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from compute.management.hosts import host_called
from compute.services.hosts import registry
from compute.worker import joining
from compute.worker.hosts import NotReady
from config.command_errors import refused
from config.errors import DomainError


class Command(BaseCommand):
    help = (
        "Remove a host without instances from its region. What lies on the host stays there; one that is "
        "reached by ssh lets the platform in no longer."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("label")
        parser.add_argument("--identity", default="", metavar="FILE", help="the key that your ssh is to take")

    def handle(self, *, label: str, identity: str, **options: Any) -> None:
        host = host_called(label)
        try:
            registry.remove(host)
        except DomainError as error:
            raise refused(error) from error
        self.stdout.write(f"{label} is removed.", self.style.SUCCESS)
        if joining.is_by_ssh(host):
            try:
                joining.leave(host, identity)
            except NotReady as error:
                self.stderr.write(f"Its authorized_keys may still have the platform's key: {error}")
