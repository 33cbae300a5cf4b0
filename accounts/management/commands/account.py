"""``manage.py account``: customers' accounts. `create` prints only the id of the new account, alone on a line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count

from accounts.management.people import Row, account_numbered, acting, add_audit, add_json, moment, show, show_list
from accounts.models import Account
from accounts.services import trust
from accounts.services.account import create
from accounts.services.suspension import set_account_active
from config.errors import Invalid
from config.processes.command_errors import refused

OPTIONAL = {
    "first_name": "first name of the contact", "last_name": "last name of the contact",
    "country": "two letters of ISO 3166, such as NO", "phone": "phone number with the country code",
}  # fmt: skip
"""Options of `create` that can be left out, with their help texts."""
NO_LIMIT, DEFAULT = "none", "default"
"""The words of `raise` for no limit, and for the limit that the account would have without its own."""
MAX_DIGITS = 10
DETAILS = ("address_1", "address_2", "city", "state", "zip", "country", "phone", "first_name", "last_name")


class Command(BaseCommand):
    help = (
        "Manage accounts. `create` opens an account and prints its id on a line of its own. A new account has no "
        "users: add one with `user invite`. Requests of a suspended account are answered 401. Its domains are "
        "not served, and its instances keep running. `quotas` shows limits and use. `trust` and `raise` change "
        "limits."
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
            changed.add_argument("account", metavar="ID", help="id of the account")
            add_audit(changed, needs_reason=verb == "suspend")
        trusted = verbs.add_parser("trust", help="give an account another trust level, which sets its limits")
        trusted.add_argument("account", metavar="ID", help="id of the account")
        trusted.add_argument("level", metavar="LEVEL", help="new, trusted, unlimited, or a level of the catalogue")
        add_audit(trusted, needs_reason=True)
        raised = verbs.add_parser("raise", help="set the limit of one quota for one account")
        raised.add_argument("account", metavar="ID", help="id of the account")
        raised.add_argument("quota", metavar="QUOTA", help="a name that `quotas` shows")
        raised.add_argument(
            "limit", metavar="LIMIT",
            help=f"a number in the unit that `quotas` shows; {NO_LIMIT}: no limit; {DEFAULT}: the usual limit",
        )  # fmt: skip
        add_audit(raised, needs_reason=True)
        quotas = verbs.add_parser(
            "quotas", help="show the quotas of an account: use, limit and source of the limit"
        )
        quotas.add_argument("account", metavar="ID", help="id of the account")
        add_json(quotas)
        listed = verbs.add_parser("list", help="list accounts, the oldest first")
        standing = listed.add_mutually_exclusive_group()
        standing.add_argument("--suspended", action="store_true", help="list only accounts that staff suspended")
        standing.add_argument("--closed", action="store_true", help="list only accounts that their users closed")
        add_json(listed)
        shown = verbs.add_parser("show", help="show one account")
        shown.add_argument("account", metavar="ID", help="id of the account")
        add_json(shown)

    def handle(self, *, verb: str, **options: Any) -> None:
        verbs = {
            "create": self._create, "suspend": self._suspend, "restore": self._restore, "list": self._list,
            "show": self._show, "trust": self._trust, "raise": self._raise, "quotas": self._quotas,
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
        self.stdout.write(f"Account {account.pk} ({account}) is {account.standing}.", self.style.SUCCESS)

    def _trust(self, options: dict[str, Any]) -> None:
        account = account_numbered(options["account"])
        before = account.trust_level
        with acting(options["by"], options["reason"]) as who:
            trust.set_trust_level(who.on(account.pk), account, options["level"], who.reason)
            who.log(account, f"Trust level {before} -> {account.trust_level}.")
        self.stdout.write(
            f"The trust level of account {account.pk} ({account}) is {account.trust_level}.", self.style.SUCCESS
        )

    def _raise(self, options: dict[str, Any]) -> None:
        account, name, given = account_numbered(options["account"]), options["quota"], options["limit"]
        if given not in (NO_LIMIT, DEFAULT) and not (given.isdecimal() and len(given) <= MAX_DIGITS):
            raise CommandError(f"limit: Must be a number, {NO_LIMIT} or {DEFAULT}, not {given!r}.")
        with acting(options["by"], options["reason"]) as who:
            if given == DEFAULT:
                trust.reset_quota(who.on(account.pk), account, name, who.reason)
            else:
                limit = None if given == NO_LIMIT else int(given)
                trust.set_quota(who.on(account.pk), account, name, limit, who.reason)
            who.log(account, f"Quota {name}: {given}.")
        self.stdout.write(f"The quota {name} of account {account.pk} ({account}) is {given}.", self.style.SUCCESS)

    def _quotas(self, options: dict[str, Any]) -> None:
        account = account_numbered(options["account"])
        rows: list[Row] = [
            {"quota": line.name, "used": line.used, "limit": line.limit, "unit": line.unit, "source": line.source}
            for line in (*trust.resource_lines(account), *trust.object_lines(account))
        ]
        if not options["json"]:
            rows = [{**row, "limit": trust.NO_LIMIT if row["limit"] is None else row["limit"]} for row in rows]
        show_list(self.stdout, rows, options["json"])

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
        more = {
            "managed": account.managed, "trust_level": account.trust_level, "quotas": account.quotas,
            "users": users,
        }  # fmt: skip
        row = {**_row(account), **details, **more}
        if not options["json"]:
            own = ", ".join(
                f"{name} {trust.NO_LIMIT if most is None else most}" for name, most in account.quotas.items()
            )
            row |= {"users": ", ".join(users), "quotas": own}
        show(self.stdout, row, options["json"])


def _row(account: Account) -> Row:
    return {
        "id": account.pk, "company": account.company, "email": account.email, "status": account.standing,
        "opened": moment(account.created),
    }  # fmt: skip
