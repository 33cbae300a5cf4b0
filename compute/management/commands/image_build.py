"""``manage.py image_build``: build a Debian system as an official image of hosts, or as a file."""

import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.drivers.qemu.building import SYSTEMS, NotBuilt, build
from compute.management import images

ROOMY = "/var/tmp"  # noqa: S108 - a directory of its own is made there
"""The folder in which a system is built. Folders below /tmp may be in memory, which is too small."""


class Command(BaseCommand):
    help = (
        "Build a Debian system from its packages and install it as an official image on hosts that run QEMU. With "
        "--output, write a file for image_import instead. Needs root, and mmdebstrap or debootstrap."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("system", choices=sorted(SYSTEMS), help="system to build")
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="write the system to this file, and import nothing"
        )
        parser.add_argument("--mirror", default="", metavar="ADDRESS", help="URL of a mirror of Debian's packages")
        parser.add_argument("--include", default="", metavar="PACKAGE,...", help="additional packages to install")
        images.add_arguments(parser)

    def handle(
        self, *, system: str, output: Path | None, mirror: str, include: str, labels: list[str], **options: Any
    ) -> None:
        wanted = SYSTEMS[system]
        packages = [name for name in include.split(",") if name]
        try:
            if output is not None:
                build(wanted, output, mirror, packages)
                self.stdout.write(f"To import it: manage.py image_import {output} --id {wanted.image}")
                return
            to = images.hosts_called(labels)
            with tempfile.TemporaryDirectory(dir=ROOMY) as folder:
                file = Path(folder) / "disk"
                build(wanted, file, mirror, packages)
                images.bring(self, file, wanted.image, wanted.label, to, **options)
        except NotBuilt as error:
            raise CommandError(str(error)) from error
