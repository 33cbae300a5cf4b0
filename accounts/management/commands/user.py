"""``manage.py user``: users of accounts, and of the platform's staff."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from accounts.management.people import (
    Row,
    account_numbered,
    acting,
    add_audit,
    add_json,
    moment,
    show,
    show_list,
    user_named,
)
from accounts.models import SecurityKey, User
from accounts.services import second_factor
from accounts.services.command_line import ADDED, NAME
from accounts.services.staff import roles_of, set_roles
from accounts.services.suspension import set_user_active
from accounts.services.users import create, mail_password, password_path
from config.errors import Invalid
from config.processes.command_errors import refused


class Command(BaseCommand):
    help = (
        "Users. `invite` mails the new user an address at which to choose a password, which is printed too, alone "
        "on a line; `create` does the same, or with --password-stdin reads the password instead and mails nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, about in (("invite", "make a user, and mail an invitation"), ("create", "make a user")):
            made = verbs.add_parser(verb, help=about)
            made.add_argument("username")
            made.add_argument("--email", required=True)
            whose = made.add_mutually_exclusive_group()
            whose.add_argument(
                "--account", metavar="ID", help="the account's number, as `account create` prints it"
            )
            whose.add_argument(
                "--staff",
                action="store_true",
                help="of no account: without a role, everything in the admin is open",
            )
            made.add_argument(
                "--role", action="append", default=[],
                help="of staff: support, operator, auditor, or a group of your own; may be given several times",
            )  # fmt: skip
            made.add_argument("--restricted", action="store_true", help="may do nothing until it is granted")
            made.add_argument("--by", metavar="STAFF", help="the staff user who does it, for the log of new staff")
            if verb == "create":
                made.add_argument(
                    "--password-stdin", action="store_true", help="read the password, a line, from standard input"
                )
        for verb, about, needs_reason in (
            ("disable", "keep a user out: its sessions and tokens are answered 401", True),
            ("enable", "let a disabled user in again", False),
            ("reset-second-factor", "let a user in by password alone, who lost the second factor", True),
            ("mail-password", "mail a user an address at which to choose a new password", False),
        ):
            changed = verbs.add_parser(verb, help=about)
            changed.add_argument("username")
            add_audit(changed, needs_reason=needs_reason)
        given = verbs.add_parser("role", help="say which roles a staff user has from now on")
        given.add_argument("username")
        which = given.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "--role", action="append", default=[], help="these and no others; may be given several times"
        )
        which.add_argument("--superuser", action="store_true", help="everything in the admin is open")
        which.add_argument("--none", action="store_true", help="nothing in the admin is open")
        add_audit(given, needs_reason=False)
        listed = verbs.add_parser("list", help="users, oldest first")
        whose = listed.add_mutually_exclusive_group()
        whose.add_argument("--account", metavar="ID", help="of this account alone")
        whose.add_argument("--staff", action="store_true", help="the platform's staff alone")
        add_json(listed)
        shown = verbs.add_parser("show", help="one user")
        shown.add_argument("username")
        add_json(shown)

    def handle(self, *, verb: str, **options: Any) -> None:
        verbs = {
            "invite": self._create, "create": self._create, "disable": self._disable, "enable": self._enable,
            "reset-second-factor": self._reset_second_factor, "mail-password": self._mail_password,
            "role": self._role, "list": self._list, "show": self._show,
        }  # fmt: skip
        verbs[verb](options)

    def _create(self, options: dict[str, Any]) -> None:
        from_stdin = options.get("password_stdin", False)
        password = sys.stdin.readline().rstrip("\r\n") if from_stdin else None
        roles = options["role"]
        if options["account"] is None and not options["staff"] and not roles:
            raise CommandError("account: Give --account ID, or for a member of staff --staff or --role ROLE.")
        account = None if options["account"] is None else account_numbered(options["account"])
        username, email, restricted = options["username"], options["email"], options["restricted"]
        if account is None:  # staff are on no account that could have an event: the log of staff's actions has it
            with acting(options["by"]) as who:
                user = create(username, email, None, restricted=restricted, password=password, roles=roles)
                who.log(user, f"A new staff user {_may(roles, not roles)}.", ADDED)
        else:
            try:
                user = create(username, email, account, restricted=restricted, password=password, roles=roles)
            except Invalid as error:
                raise refused(error) from error
        if password is None:
            self._say_address(user, "An invitation to", "for three days")
        else:
            self.stdout.write(f"{user.username} signs in at {settings.SITE_URL}/login", self.style.SUCCESS)

    def _say_address(self, user: User, what: str, until: str) -> None:
        self.stderr.write(
            f"{what} {user.email} is on its way. Its address works once, and {until}:",
            lambda text: text,  # no error, so not red
        )
        self.stdout.write(settings.SITE_URL + password_path(user))

    def _disable(self, options: dict[str, Any]) -> None:
        self._set_active(options, False)

    def _enable(self, options: dict[str, Any]) -> None:
        self._set_active(options, True)

    def _set_active(self, options: dict[str, Any], active: bool) -> None:
        user = user_named(options["username"])
        with acting(options["by"], options["reason"]) as who:
            set_user_active(who.on(user.account_id), user, active, who.reason)
            who.log(user, "Enabled." if active else "Disabled.")
        self.stdout.write(f"{user.username} is {_status(user)}.", self.style.SUCCESS)

    def _reset_second_factor(self, options: dict[str, Any]) -> None:
        user = user_named(options["username"])
        with acting(options["by"], options["reason"]) as who:
            message = f"Turned off by support: {who.reason}"
            if not second_factor.disable(who.on(user.account_id), user, message):
                raise Invalid("It is off already.", "second_factor")
            who.log(user, "Turned the second factor off.")
        self.stdout.write(
            f"{user.username} signs in by password alone, and is told so by mail.", self.style.SUCCESS
        )

    def _mail_password(self, options: dict[str, Any]) -> None:
        user = user_named(options["username"])
        with acting(options["by"], options["reason"]) as who:
            mail_password(who.on(user.account_id), user)
            who.log(user, "Mailed a password link.")
        self._say_address(user, "A mail to", "for three days")

    def _role(self, options: dict[str, Any]) -> None:
        user, roles, superuser = user_named(options["username"]), options["role"], options["superuser"]
        with acting(options["by"], options["reason"]) as who:
            set_roles(user, roles, superuser=superuser)
            who.log(user, f"A staff user {_may(roles, superuser)}.")
        self.stdout.write(f"{user.username} is a staff user {_may(roles, superuser)}.", self.style.SUCCESS)

    def _list(self, options: dict[str, Any]) -> None:
        users = User.objects.exclude(username=NAME).order_by("pk")
        if options["account"] is not None:
            users = users.filter(account=account_numbered(options["account"]))
        if options["staff"]:
            users = users.filter(is_staff=True)
        show_list(self.stdout, _rows(users), options["json"])

    def _show(self, options: dict[str, Any]) -> None:
        user = user_named(options["username"])
        keys = SecurityKey.objects.filter(user=user).count()
        more = {
            "security_keys": keys, "signs_in_with": user.authentication_type, "superuser": user.is_superuser,
            "roles": roles_of(user) if options["json"] else ", ".join(roles_of(user)),
            "account_name": str(user.account) if user.account else None,
        }  # fmt: skip
        show(self.stdout, {**_row(user), **more}, options["json"])


def _rows(users: QuerySet[User]) -> list[Row]:
    return [_row(user) for user in users]


def _row(user: User) -> Row:
    return {
        "id": user.pk, "username": user.username, "email": user.email, "account": user.account_id,
        "status": _status(user), "restricted": user.restricted, "staff": user.is_staff,
        "second_factor": user.two_factor_auth, "last_login": moment(user.last_login),
        "created": moment(user.date_joined),
    }  # fmt: skip


def _may(roles: Sequence[str], superuser: bool) -> str:
    """Return the permissions of a staff user, as the end of a sentence about the user."""
    if superuser:
        return "who may do everything in the admin"
    return f"with the role {', '.join(roles)}" if roles else "with no role"


def _status(user: User) -> str:
    return "active" if user.is_active else "disabled"
