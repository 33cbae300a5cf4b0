"""Functions that the commands about official images of hosts share."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.management.hosts import describe, host_called
from compute.models import Host
from compute.worker import hosts, official_images

NO_HOST = (
    "No host can import images from files. `make serve HYPERVISOR=qemu` or `manage.py host_add` adds such a host."
)


def image_id(text: str) -> str:
    """Return the id of an official image. Raises `ArgumentTypeError`."""
    if not re.fullmatch(r"[a-z0-9]+/[a-z0-9][a-z0-9._-]{0,62}", text):
        raise ArgumentTypeError("an id looks like compute/debian13: lower-case letters and digits")
    return text


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options that choose the hosts, and how they get an image."""
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="LABEL",
        dest="labels",
        help="label of a host; can be repeated (default: all that run QEMU)",
    )
    parser.add_argument(
        "--replace", action="store_true", help="replace the image with this id on hosts that have one"
    )
    parser.add_argument("--identity", default="", metavar="FILE", help="private key for your ssh")


def hosts_called(labels: list[str]) -> list[Host]:
    """Return the hosts with these labels, or all hosts that can get images. Raises `CommandError`."""
    if not labels:
        found = list(Host.objects.filter(driver=official_images.DRIVER).order_by("label"))
        if not found:
            raise CommandError(NO_HOST)
        return found
    named = [host_called(label) for label in labels]
    for host in named:
        if host.driver != official_images.DRIVER:
            raise CommandError(f"{host.label} has the driver {host.driver}, which cannot import images from files.")
    return named


def bring(
    command: BaseCommand, file: Path, image: str, name: str | None, to: list[Host],
    *, replace: bool, identity: str, **options: Any,
) -> None:  # fmt: skip
    """Import a file on each host, and print the result. Raises `CommandError` if an import failed."""
    failed = 0
    for host in to:
        try:
            checked = official_images.import_image(host, file, image, name, replace, identity)
            command.stdout.write(describe(checked), command.style.SUCCESS)
        except hosts.NotReady as error:
            failed += 1
            command.stderr.write(str(error))
    if failed:
        raise CommandError(f"Hosts that failed: {failed} of {len(to)}.")
