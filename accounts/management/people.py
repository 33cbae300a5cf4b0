"""Functions shared by the commands about users and accounts: lookups, the acting operator, and output."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, OutputWrapper
from django.db import transaction

from accounts.models import Account, User
from accounts.services.command_line import Operator, operator
from config.display.integers import is_id
from config.errors import DomainError
from config.processes.command_errors import refused

Row = dict[str, Any]


def user_named(username: str) -> User:
    """Return the user with this name, and its account. Raises `CommandError`."""
    found = User.objects.select_related("account").filter(username=username).first()
    if found is None:
        raise CommandError(f"username: There is no user {username!r}.")
    return found


def account_numbered(number: str) -> Account:
    """Return the account with this id, which a person typed. Raises `CommandError`."""
    if not is_id(number):
        raise CommandError(f"account: {number!r} is not the id of an account.")
    found = Account.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"account: There is no account {number}.")
    return found


def add_audit(parser: ArgumentParser, *, needs_reason: bool) -> None:
    """Add the options of an audited verb."""
    parser.add_argument(
        "--reason",
        required=needs_reason,
        default="",
        help="reason, which the customer reads in the account's events",
    )
    parser.add_argument("--by", metavar="STAFF", help="staff user for the event and the log")


@contextmanager
def acting(by: str | None, reason: str = "") -> Iterator[Operator]:
    """Yield the operator for whom the block acts, in one transaction. A refusal becomes the command's error."""
    if len(reason) > Operator.MAX_REASON_LENGTH:
        raise CommandError(f"reason: Must have {Operator.MAX_REASON_LENGTH} characters at most.")
    try:
        with transaction.atomic():
            yield operator(by, reason)
    except DomainError as error:
        raise refused(error) from error


# --- showing ----------------------------------------------------------------------------------------------


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def show(out: OutputWrapper, row: Row, as_json: bool) -> None:
    """Print one object: a line for each field."""
    if as_json:
        out.write(json.dumps(row, indent=2, ensure_ascii=False))
        return
    width = max(map(len, row))
    for name, value in row.items():
        out.write(f"{name:<{width}}  {_cell(value)}")


def show_list(out: OutputWrapper, rows: Sequence[Row], as_json: bool) -> None:
    """Print several objects: a table, or a list of objects. An empty table prints nothing."""
    if as_json:
        out.write(json.dumps(list(rows), indent=2, ensure_ascii=False))
        return
    cells = [[*map(str, rows[0])], *([_cell(value) for value in row.values()] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        out.write("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())


def moment(time: datetime | None) -> str | None:
    """Return a time in UTC in the format of the API."""
    return None if time is None else f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _cell(value: Any) -> str:
    """Return a value without control characters, which a customer may have put into a name."""
    words = {None: "-", True: "yes", False: "no"}
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return "".join(each if each.isprintable() else "?" for each in text) or "-"
