"""``manage.py image_import``: import a system's file as an official image of hosts."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.management import images


class Command(BaseCommand):
    help = (
        "Import a file as an official image on hosts that run QEMU. The file is one ext4 file system without "
        "partitions: raw, compressed with gzip or xz, or qcow2. docs/guests.md lists the requirements of a "
        "system."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="file of the system")
        parser.add_argument(
            "--id", type=images.image_id, required=True, help="id of the image, such as compute/debian13"
        )
        parser.add_argument("--name", help="label of the image (default: the name in the system's os-release)")
        images.add_arguments(parser)

    def handle(self, *, file: Path, id: str, name: str | None, labels: list[str], **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        images.bring(self, file, id, name, images.hosts_called(labels), **options)
