"""``manage.py usage``: the usage of accounts. `export` writes a month for a billing system."""

import csv
import json
import os
import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, Protocol, TextIO

from django.core.management.base import BaseCommand, CommandError

from accounts.management.people import account_numbered
from accounts.models import Account
from compute.services.common.months import month_of
from compute.services.usage import clock
from compute.services.usage.comparison import INTERVALS, compare, repair
from compute.services.usage.export import COLUMNS, Row, rows
from config.display.spreadsheets import harmless

STANDARD_OUTPUT = "-"
PIPED = "standard output"
MONTH = re.compile(r"[1-9][0-9]{3}-(0[1-9]|1[0-2])")


class Output(Protocol):
    """A file or the output of a command."""

    def write(self, text: str, /) -> object: ...


class Command(BaseCommand):
    help = (
        "Show the usage of accounts. `export` writes the usage of all accounts in a month as CSV or JSON. `check` "
        "compares counters and intervals with the accounts' resources, and `repair` corrects the differences."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        export = verbs.add_parser("export", help="write the usage of a month (docs/usage.md describes the rows)")
        export.add_argument("--month", required=True, metavar="YYYY-MM", help="a month in UTC")
        export.add_argument("--format", choices=FORMATS, default="csv", help="format of the output (default: csv)")
        export.add_argument("--account", metavar="ID", help="only the account with this id")
        export.add_argument(
            "--output", metavar="FILE", default=STANDARD_OUTPUT,
            help="file to write (default: standard output). It is replaced when all rows are written",
        )  # fmt: skip

        check = verbs.add_parser("check", help="compare counters and intervals of accounts with their resources")
        repair = verbs.add_parser("repair", help="correct the counters and intervals of accounts that differ")
        for parser in (check, repair):
            parser.add_argument("--account", metavar="ID", help="only the account with this id")

    def handle(self, *, verb: str, **options: Any) -> None:
        {"export": self._export, "check": self._check, "repair": self._repair}[verb](options)

    def _check(self, options: dict[str, Any]) -> None:
        differing = 0
        for account_id in _accounts(options["account"]):
            if found := compare(account_id):
                differing += 1
                self.stdout.write(f"account {account_id}: {described(found)}")
        if differing:
            raise CommandError(f"{differing} accounts differ. `manage.py usage repair` corrects them.")
        self.stdout.write("All counters and intervals equal the resources.")

    def _repair(self, options: dict[str, Any]) -> None:
        repaired = 0
        for account_id in _accounts(options["account"]):
            if found := compare(account_id):
                repair(account_id)
                repaired += 1
                self.stdout.write(f"account {account_id}: repaired {described(found)}")
        self.stdout.write(f"{repaired} accounts repaired.")

    def _export(self, options: dict[str, Any]) -> None:
        month = _month(options["month"])
        account_id = None if options["account"] is None else account_numbered(options["account"]).pk
        write = FORMATS[options["format"]]
        if options["output"] == STANDARD_OUTPUT:
            with _errors_of(PIPED):
                write(rows(month, account_id), self.stdout)
                self.stdout.flush()  # a full disk may be noticed only here
            return
        path = Path(options["output"])
        with _errors_of(path), _replaced(path) as file:
            write(rows(month, account_id), file)


def _accounts(named: str | None) -> Iterator[int]:
    """Yield the ids of all accounts, or of the named one."""
    if named is not None:
        yield account_numbered(named).pk
        return
    yield from Account.objects.order_by("pk").values_list("pk", flat=True).iterator()


def described(found: Mapping[str, Any]) -> str:
    """Return differences as text: ``volumes 3 instead of 4``."""
    counters = {name: value for name, value in found.items() if name != INTERVALS}
    parts = [f"{name} {recorded} instead of {expected}" for name, (recorded, expected) in counters.items()]
    if INTERVALS in found:
        parts.append(f"{found[INTERVALS]} intervals")
    return ", ".join(parts)


def write_csv(found: Iterable[Row], out: Output) -> None:
    """Write a line of titles and a line for each row. A price that does not exist is empty."""
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in found:
        writer.writerow(["" if value is None else harmless(value) for value in row.values().values()])


def write_json(found: Iterable[Row], out: Output) -> None:
    """Write an array with an object for each row, each on a line of its own."""
    out.write("[\n")
    previous = ""
    for row in found:
        if previous:
            out.write(f"{previous},\n")
        previous = json.dumps(row.values(), ensure_ascii=False)
    out.write(f"{previous}\n]\n" if previous else "]\n")


FORMATS = {"csv": write_csv, "json": write_json}


def _month(text: str) -> date:
    """Return the first day of a month that has begun. Raises `CommandError`."""
    if not MONTH.fullmatch(text):
        raise CommandError(f"month: {text!r} is not a month. Write the year and the month, like 2026-11.")
    month = date(int(text[:4]), int(text[5:]), 1)
    if month > month_of(clock.now()):
        raise CommandError(f"month: {text} has not begun (in UTC).")
    return month


@contextmanager
def _errors_of(output: Path | str) -> Iterator[None]:
    """Turn an error of the output into a `CommandError`.

    If the reader of standard output has closed the pipe, the error propagates: `manage.py` then ends quietly.
    """
    try:
        yield
    except OSError as error:
        if output == PIPED and isinstance(error, BrokenPipeError):
            raise
        raise CommandError(f"output: {output}: {error.strerror}.") from error


@contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    """Yield a new file that replaces `path` at the end of the block, so that nobody reads a part of it.

    A device or a pipe is written directly. A link stays a link.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    path = path.resolve()
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
