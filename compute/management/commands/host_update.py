"""``manage.py host_update``: install the agent of this release on hosts that are reached by ssh."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.management.hosts import describe, host_called
from compute.models import Host
from compute.worker import hosts, joining


class Command(BaseCommand):
    help = (
        "Install the agent of this release and the platform's key on hosts that are reached by ssh. The command "
        "uses your own ssh, because workers have no permission to do this. Machines keep running."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "labels", nargs="*", metavar="label", help="labels of hosts (default: all hosts that ssh reaches)"
        )
        parser.add_argument("--identity", default="", metavar="FILE", help="private key for your ssh")

    def handle(self, *, labels: list[str], identity: str, **options: Any) -> None:
        if labels:
            chosen = [host_called(label) for label in labels]
        else:
            chosen = list(Host.objects.filter(location__startswith="ssh:").order_by("label"))
        failed = 0
        for host in chosen:
            if not joining.is_by_ssh(host):
                raise CommandError(f"{host.label} is not reached by ssh, so it has no agent to update.")
            try:
                joining.join(host, identity)
                self.stdout.write(describe(hosts.check(host)), self.style.SUCCESS)
            except hosts.NotReady as error:
                failed += 1
                self.stderr.write(f"{host.label}: {error}")
        if failed:
            raise CommandError(f"Hosts that failed: {failed} of {len(chosen)}.")
