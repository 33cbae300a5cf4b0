"""``manage.py account``: customers' accounts. `create` prints only the id of the new account, alone on a line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count

from accounts.management.people import Row, account_numbered, acting, add_audit, add_json, moment, show, show_list
from accounts.models import Account
from accounts.services.account import create
from accounts.services.suspension import set_account_active
from config.errors import Invalid
from config.processes.command_errors import refused

OPTIONAL = ("first_name", "last_name", "country", "phone")
DETAILS = ("address_1", "address_2", "city", "state", "zip", "country", "phone", "first_name", "last_name")


class Command(BaseCommand):
    help = (
        "Manage accounts. `create` opens an account and prints its id on a line of its own. A new account has no "
        "users: add one with `user invite`. Requests of a suspended account are answered 401. Its computes keep "
        "running."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="open an account")
        create.add_argument("--company", required=True, help="name of the customer")
        create.add_argument("--email", required=True, help="mail address of the customer")
        for name in OPTIONAL:
            create.add_argument(f"--{name.replace('_', '-')}", default="", help=OPTIONAL[name])
        for verb, about in (
            ("suspend", "refuse all users and tokens of an account"),
            ("restore", "accept the users and tokens of a suspended or closed account again"),
        ):
            changed = verbs.add_parser(verb, help=about)
            changed.add_argument("account", metavar="ID")
            add_audit(changed, needs_reason=verb == "suspend")
        listed = verbs.add_parser("list", help="list accounts, the oldest first")
        standing = listed.add_mutually_exclusive_group()
        standing.add_argument("--suspended", action="store_true", help="list only accounts that staff suspended")
        standing.add_argument("--closed", action="store_true", help="list only accounts that their users closed")
        add_json(listed)
        shown = verbs.add_parser("show", help="show one account")
        shown.add_argument("account", metavar="ID")
        add_json(shown)

    def handle(self, *, verb: str, **options: Any) -> None:
        verbs = {
            "create": self._create, "suspend": self._suspend, "restore": self._restore, "list": self._list,
            "show": self._show,
        }  # fmt: skip
        verbs[verb](options)

    def _create(self, options: dict[str, Any]) -> None:
        values = {name: options[name] for name in ("company", "email", *OPTIONAL)}
        try:
            account = create(values)
        except Invalid as error:
            raise refused(error) from error
        self.stdout.write(str(account.pk))

    def _suspend(self, options: dict[str, Any]) -> None:
        self._set_active(options, False)

    def _restore(self, options: dict[str, Any]) -> None:
        self._set_active(options, True)

    def _set_active(self, options: dict[str, Any], active: bool) -> None:
        account = account_numbered(options["account"])
        with acting(options["by"], options["reason"]) as who:
            actor = who.on(account.pk)
            set_account_active(actor, account, active, who.reason)
            who.log(account, "Restored." if active else "Suspended.")
        self.stdout.write(f"Account {account.pk} ({account}) is {_status(account)}.", self.style.SUCCESS)

    def _list(self, options: dict[str, Any]) -> None:
        accounts = Account.objects.annotate(users_number=Count("users")).order_by("pk")
        if options["suspended"]:
            accounts = accounts.filter(is_active=False, closed=None)
        if options["closed"]:
            accounts = accounts.filter(closed__isnull=False)
        rows = [{**_row(account), "users": account.users_number} for account in accounts]
        show_list(self.stdout, rows, options["json"])

    def _show(self, options: dict[str, Any]) -> None:
        account = account_numbered(options["account"])
        details = {name: getattr(account, name) for name in DETAILS}
        users = list(account.users.order_by("pk").values_list("username", flat=True))
        more = {"managed": account.managed, "quotas": account.quotas, "users": users}
        row = {**_row(account), **details, **more}
        if not options["json"]:
            own = ", ".join(f"{name} {most}" for name, most in account.quotas.items())
            row |= {"users": ", ".join(users), "quotas": own}
        show(self.stdout, row, options["json"])


def _row(account: Account) -> Row:
    return {
        "id": account.pk, "company": account.company, "email": account.email, "status": _status(account),
        "opened": moment(account.created),
    }  # fmt: skip


def _status(account: Account) -> str:
    return "active" if account.is_active else "suspended"
