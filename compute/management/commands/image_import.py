"""``manage.py image_import``: import a system's file as an official image of hosts."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.management import images


class Command(BaseCommand):
    help = (
        "Make the file of a system an official image, on hosts that run QEMU: one ext4 without partitions, raw, "
        "packed by gzip or xz, or qcow2 (docs/guests.md has what such a system needs)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--id", type=images.image_id, required=True, help="such as compute/debian13")
        parser.add_argument("--name", help="what people read (what the system calls itself)")
        images.add_arguments(parser)

    def handle(self, *, file: Path, id: str, name: str | None, labels: list[str], **options: Any) -> None:
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        images.bring(self, file, id, name, images.hosts_called(labels), **options)
