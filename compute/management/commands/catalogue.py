"""``manage.py catalogue``: regions, types, kernels, images, pools, hosts, prices and trust levels from a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compute.services.catalogue import applying, exporting
from compute.services.catalogue.reading import read
from compute.services.catalogue.schema import SECTIONS
from compute.services.catalogue.showing import lines
from compute.services.usage.repricing import reprice
from config.display.plurals import counted
from config.errors import DomainError
from config.processes.command_errors import refused

STANDARD_INPUT = "-"
WOULD_CHANGE = 2
"""The exit code of ``--check`` if something would change."""


class Command(BaseCommand):
    help = (
        "Manage regions, types, kernels, images, address pools, hosts, prices and trust levels by a file. `apply` "
        "changes the database to match the file, `export` writes such a file, and `release` allows `seed` to add "
        "to a section again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        apply = verbs.add_parser("apply", help="show the differences, and apply them")
        apply.add_argument("file", metavar="FILE", help="a YAML or JSON file; - reads standard input")
        how = apply.add_mutually_exclusive_group()
        how.add_argument("--yes", action="store_true", help="apply the changes without asking")
        how.add_argument(
            "--check", "--dry-run", action="store_true",
            help="change nothing; exit with 2 if there are differences, with 0 if not",
        )  # fmt: skip
        apply.add_argument("--by", metavar="STAFF", help="staff user for the log of changes")
        apply.add_argument("--reason", default="", help="reason for the log of changes")
        export = verbs.add_parser("export", help="write the present catalogue to a file")
        export.add_argument(
            "file",
            metavar="FILE",
            nargs="?",
            default=STANDARD_INPUT,
            help="file to write (default: standard output)",
        )
        export.add_argument(
            "--format", choices=("yaml", "json"), help="format of the file (default: by its name, else yaml)"
        )
        export.add_argument(
            "--only", metavar="SECTION,…", default=",".join(SECTIONS), help="export only these sections"
        )
        release = verbs.add_parser("release", help="allow `seed` to add to sections again")
        release.add_argument("sections", nargs="+", metavar="SECTION", help=", ".join(SECTIONS))

    def handle(self, *, verb: str, **options: Any) -> None:
        try:
            {"apply": self._apply, "export": self._export, "release": self._release}[verb](options)
        except DomainError as error:
            raise refused(error) from error

    def _apply(self, options: dict[str, Any]) -> None:
        catalogue = read(_text_of(options["file"]))
        plan = applying.planned(catalogue)
        for line in lines(plan):
            self.stdout.write(line)
        if options["check"]:
            sys.exit(WOULD_CHANGE if plan else 0)
        if plan and not options["yes"]:
            _ask()
        own = applying.apply(catalogue, plan, options["by"], options["reason"])
        if plan:
            self.stdout.write("Applied.", self.style.SUCCESS)
        if own:
            self.stdout.write(
                "From now on, this file manages these sections, and `manage.py seed` does not change them: "
                f"{', '.join(own)}."
            )
        # after the commit, and also if nothing changed: an earlier apply may have ended before this line
        if done := reprice():
            self.stdout.write(f"The new prices apply from now on to {counted(done, 'resource', 'resources')}.")

    def _export(self, options: dict[str, Any]) -> None:
        found = exporting.export(_sections(options["only"].split(",")))
        form = options["format"] or ("json" if options["file"].endswith(".json") else "yaml")
        text = exporting.as_json(found) if form == "json" else exporting.as_yaml(found)
        if options["file"] == STANDARD_INPUT:
            self.stdout.write(text, ending="")
            return
        try:
            Path(options["file"]).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}.") from error

    def _release(self, options: dict[str, Any]) -> None:
        released = applying.release(_sections(options["sections"]))
        self.stdout.write(
            f"`manage.py seed` adds to {', '.join(released)} again."
            if released
            else "No catalogue file managed these sections."
        )


def _text_of(name: str) -> str:
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.read()
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{name}: This is not text in UTF-8.") from error


def _sections(names: list[str]) -> list[str]:
    for name in names:
        if name not in SECTIONS:
            raise CommandError(f"There is no section {name!r}. Use one of: {', '.join(SECTIONS)}.")
    return names


def _ask() -> None:
    """Ask for confirmation at the terminal. Raises `CommandError` if the answer is not yes, or if there is no
    terminal."""
    if not sys.stdin.isatty():
        raise CommandError(
            "The command cannot ask without a terminal. Nothing was applied. To apply the changes, use --yes."
        )
    if input("Type yes to apply these changes: ").strip() != "yes":
        raise CommandError("Nothing was applied.")
