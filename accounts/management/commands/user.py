"""``manage.py user create``: a user of an account, or of the platform's staff."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.models import Account, User
from accounts.services.users import create, password_path
from config.command_errors import refused
from config.errors import Invalid

LONGEST_ID = 18
"""The most digits of an account's id."""


class Command(BaseCommand):
    help = (
        "Make a user (create) and mail an invitation: an address at which to choose a password, which is printed "
        "too, alone on a line. With --password-stdin the password is read instead, and nothing is mailed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        create = parser.add_subparsers(dest="verb", required=True).add_parser("create", help="make a user")
        create.add_argument("username")
        create.add_argument("--email", required=True)
        whose = create.add_mutually_exclusive_group(required=True)
        whose.add_argument("--account", metavar="ID", help="the account's number, as `account create` prints it")
        whose.add_argument("--staff", action="store_true", help="of no account: everything in the admin is open")
        create.add_argument("--restricted", action="store_true", help="may do nothing until it is granted")
        create.add_argument(
            "--password-stdin", action="store_true", help="read the password, a line, from standard input"
        )

    def handle(
        self,
        *,
        verb: str,
        username: str,
        email: str,
        account: str | None,
        restricted: bool,
        password_stdin: bool,
        **options: Any,
    ) -> None:
        password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
        try:
            user = create(username, email, _account(account), restricted=restricted, password=password)
        except Invalid as error:
            raise refused(error) from error
        if password is None:
            self._say_invitation(user)
        else:
            self.stdout.write(f"{user.username} signs in at {settings.SITE_URL}/login", self.style.SUCCESS)

    def _say_invitation(self, user: User) -> None:
        self.stderr.write(
            f"An invitation to {user.email} is on its way. Its address works once, and for three days:",
            lambda text: text,  # no error, so not in red
        )
        self.stdout.write(settings.SITE_URL + password_path(user))


def _account(number: str | None) -> Account | None:
    if number is None:
        return None
    if not (number.isascii() and number.isdecimal() and len(number) <= LONGEST_ID):
        raise CommandError(f"account: {number!r} is not the number of an account.")
    found = Account.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"account: There is no account {number}.")
    return found
