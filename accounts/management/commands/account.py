"""``manage.py account create``: an account, whose id is printed alone on a line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from accounts.services.account import create
from config.command_errors import refused
from config.errors import Invalid

OPTIONAL = ("first_name", "last_name", "country", "phone")


class Command(BaseCommand):
    help = "Open an account (create) and print its id, alone on a line. It has no users: `user create` makes one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        create = parser.add_subparsers(dest="verb", required=True).add_parser("create", help="open an account")
        create.add_argument("--company", required=True, help="who the customer is")
        create.add_argument("--email", required=True, help="where the customer is written to")
        for name in OPTIONAL:
            create.add_argument(f"--{name.replace('_', '-')}", default="")

    def handle(self, *, verb: str, company: str, email: str, **options: Any) -> None:
        values = {"company": company, "email": email, **{name: options[name] for name in OPTIONAL}}
        try:
            account = create(values)
        except Invalid as error:
            raise refused(error) from error
        self.stdout.write(str(account.pk))
