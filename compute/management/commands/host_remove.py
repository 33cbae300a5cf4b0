"""``manage.py host_remove``: remove a host that has no instances any more."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.management.hosts import host_called
from compute.models import Host
from compute.services.hosts import registry
from compute.worker import joining
from compute.worker.hosts import NotReady
from config.errors import DomainError
from config.processes.command_errors import refused

NOT_REMOVED = (
    "{label} was not removed, because the platform's key could not be removed from it. {error}\n"
    "Run the command again with --identity FILE, a key that the host accepts. Or add --leave-key: then the host is"
    " removed, and the platform's key stays on it."
)
KEY_LEFT = (
    "If {place} still runs, it accepts the platform's key. Delete the line that ends with this key from"
    " authorized_keys of {user} there:\n{key}"
)


class Command(BaseCommand):
    help = (
        "Remove a host without instances from its region. If ssh reaches the host, your own ssh first removes the "
        "platform's key from it. All other files stay on the host."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("label", help="label of the host")
        parser.add_argument("--identity", default="", metavar="FILE", help="private key for your ssh")
        parser.add_argument(
            "--leave-key",
            action="store_true",
            help="do not remove the platform's key, because the host is gone or was installed again",
        )

    def handle(self, *, label: str, identity: str, leave_key: bool, **options: Any) -> None:
        host = host_called(label)
        has_key = joining.is_by_ssh(host)
        try:
            if has_key and not leave_key:
                take_key_off(host, identity)
            registry.remove(host)
        except DomainError as error:
            raise refused(error) from error
        self.stdout.write(f"{label} is removed.", self.style.SUCCESS)
        if has_key and leave_key:
            found = joining.place_of(host)
            advice = KEY_LEFT.format(place=found.machine, user=found.user, key=joining.public_key())
            self.stderr.write(advice, lambda text: text)


def take_key_off(host: Host, identity: str) -> None:
    """Remove the platform's key from a host without instances. The host gets no instances meanwhile.

    If the key cannot be removed, raise `CommandError` and leave the host as it was.
    """
    took_instances = registry.close(host)
    try:
        joining.leave(host, identity)
    except NotReady as error:
        if took_instances:
            registry.reopen(host)
        raise CommandError(NOT_REMOVED.format(label=host.label, error=error)) from error
