"""``manage.py export_zones DIRECTORY``: write customers' domains as zones for a local name server."""

import shlex
import subprocess
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, close_old_connections

from compute.services.domains.zone_export import Exported, export
from config.display.plurals import counted


class Command(BaseCommand):
    help = (
        "Write the zones of all active domains as files for Knot DNS. With --reload, run a command after a change, "
        "so that Knot DNS loads the new files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, help="directory of the zone files")
        parser.add_argument("--reload", default="", help='command to run after a change, such as "knotc reload"')
        parser.add_argument(
            "--watch", type=float, metavar="SECONDS", help="run until stopped, with this pause between two exports"
        )

    def handle(self, *, directory: Path, reload: str, watch: float | None, **options: Any) -> None:
        pending = True  # an earlier run may have been killed between its zones and the reload
        while True:
            again = False
            try:
                done = self._export(directory.resolve())
                pending, again = pending or bool(done), bool(done.turned)
            except OperationalError as error:
                if watch is None:
                    raise
                self.stderr.write(f"The database does not answer: {error}")
            if pending and reload:
                pending = not self._reload(reload, keep=watch is not None)
            if again and not pending:
                continue
            if watch is None:
                return
            # between polls of the tables: a name server's host is not notified of changes
            time.sleep(watch)
            close_old_connections()

    def _export(self, directory: Path) -> Exported:
        done = export(directory)
        if done:
            words = f"{counted(done.written, 'zone')} written, {done.removed} removed"
            self.stdout.write(f"{words}, {done.turned} more follow." if done.turned else f"{words}.")
        return done

    def _reload(self, command: str, keep: bool) -> bool:
        """Run the reload command; True on success. With `keep`, a failure is retried later. Otherwise it raises
        `CommandError`."""
        done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode == 0:
            return True
        words = f"{command} failed: {(done.stderr or done.stdout).strip()}"
        if not keep:
            raise CommandError(words)
        self.stderr.write(words)
        return False
