"""``manage.py host_add``: add a host to a region, check it, and enable it for instances."""

import hmac
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from compute.management.hosts import describe, location_by_ssh
from compute.services.hosts import registry
from compute.worker import hosts, joining
from config.errors import DomainError
from config.processes.command_errors import refused


class Command(BaseCommand):
    help = (
        "Add a host to a region. The driver prepares the host, its capacity is measured, and the host is enabled "
        "for instances. If a step fails, the host is not added. With --ssh, the host is another machine: your own "
        "ssh installs the agent, a guest and the platform's key on it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("label", help="name of the new host for staff, such as hv1")
        parser.add_argument("--region", required=True, help="id of the host's region, such as no-osl")
        parser.add_argument(
            "--driver", default="qemu", help="qemu, simulated or another of DRIVERS (default: qemu)"
        )
        parser.add_argument(
            "--location",
            default="",
            help="directory on the host for machines, disks and images (default with --ssh: /var/lib/skerry)",
        )
        parser.add_argument("--shared", default="", help="directory for volumes that all hosts of the region share")
        parser.add_argument(
            "--ssh", default="", metavar="USER@MACHINE", help="ssh destination of the host, such as root@hv1"
        )
        parser.add_argument("--port", type=int, default=22, help="ssh port of the host (default: 22)")
        parser.add_argument("--identity", default="", metavar="FILE", help="private key for your ssh")
        parser.add_argument(
            "--fingerprint",
            default="",
            help="expected fingerprint of the host's key, such as SHA256:…; the command then does not ask",
        )
        parser.add_argument(
            "--user",
            default="skerry",
            help="user that runs QEMU if you log in as root; created if missing (default: skerry)",
        )
        parser.add_argument(
            "--guest",
            default="",
            metavar="DIR",
            help="directory that `make guest` wrote, for a host without kernels and images",
        )
        parser.add_argument(
            "--underlay",
            metavar="ADDRESS",
            help="IPv4 address of the host in the network between hosts, for private addresses and VLANs",
        )
        parser.add_argument(
            "--networking",
            action="store_true",
            help="let the host route, filter and count the packets of machines (docs/host-networks.md)",
        )

    def handle(
        self, *, label: str, region: str, driver: str, location: str, shared: str, ssh: str, **options: Any
    ) -> None:
        if options["networking"] and not ssh:
            raise CommandError("--networking requires --ssh.")
        if ssh:
            location = location_by_ssh(ssh, options["port"], location)
        elif location.startswith("ssh:"):
            raise CommandError(
                "Use --ssh for a host that is reached by ssh. The command then pins the key of the host."
            )
        spec = registry.HostSpec(label, region, driver, location, shared, underlay=options["underlay"])
        try:
            if ssh:
                registry.check_new(spec)  # before the operator compares keys
                spec = replace(spec, host_key=self._pinned(location, options["fingerprint"]))
            host = registry.add(spec)
        except DomainError as error:
            raise refused(error) from error
        try:
            if ssh:
                joining.join(host, options["identity"], _guest(options["guest"]), options["user"])
                if options["networking"]:
                    joining.have_route(host, options["identity"])
            checked = hosts.check(host)
        except hosts.NotReady as error:
            if ssh:
                with suppress(hosts.NotReady):  # the first error is reported, not this one
                    joining.leave(host, options["identity"])
            registry.remove(host)
            raise CommandError(f"{label}: {error}") from error
        self.stdout.write(describe(checked), self.style.SUCCESS)

    def _pinned(self, location: str, expected: str) -> str:
        """Return the key that the host presents, if it is the one that the operator expects."""
        try:
            found = joining.presented(location)
        except hosts.NotReady as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The host's key is {found.key.split()[0]} {found.fingerprint}")
        if expected:
            if not hmac.compare_digest(expected.encode(), found.fingerprint.encode()):
                raise CommandError("The host's key has another fingerprint than --fingerprint.")
        else:
            try:
                reply = input("Compare it with the output of ssh-keygen -l on the host. Is it the same? [yes/no] ")
            except EOFError:
                raise CommandError(
                    "The command cannot ask without a terminal. Give the fingerprint with --fingerprint."
                ) from None
            if reply.strip() != "yes":
                raise CommandError("The host was not added.")
        return found.key


def _guest(named: str) -> Path | None:
    """Return the directory of the guest: the named one, else the output of `make guest` if that exists."""
    if named:
        return Path(named)
    built = settings.STATE_DIR / "hypervisor"
    return built if (built / "kernels").is_dir() and (built / "images").is_dir() else None
