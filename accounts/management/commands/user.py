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

CHANGES = (
    ("disable", "refuse all sessions and tokens of a user", True),
    ("enable", "accept a disabled user again", False),
    ("reset-second-factor", "turn off the second factor of a user who lost it", True),
    ("mail-password", "mail a user a link to choose a new password", False),
)
"""Verbs that change one user: name, help text, and whether a reason is required."""


class Command(BaseCommand):
    help = (
        "Manage users. `invite` mails the new user a link to choose a password, and prints the link on a "
        "line of its own. `create` does the same. With --password-stdin, it reads the password instead and sends "
        "no mail."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        _add_creation(verbs.add_parser("invite", help="create a user and mail an invitation"))
        create = verbs.add_parser("create", help="create a user")
        _add_creation(create)
        create.add_argument(
            "--password-stdin", action="store_true", help="read the password from the first line of standard input"
        )
        for verb, about, needs_reason in CHANGES:
            changed = verbs.add_parser(verb, help=about)
            changed.add_argument("username", help="name of the user")
            add_audit(changed, needs_reason=needs_reason)
        _add_roles(verbs.add_parser("role", help="set the roles of a staff user"))
        _add_filters(verbs.add_parser("list", help="list users, the oldest first"))
        shown = verbs.add_parser("show", help="show one user")
        shown.add_argument("username", help="name of the user")
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
            self._say_address(user, "An invitation is being sent to", "three days")
        else:
            self.stdout.write(f"{user.username} can sign in at {settings.SITE_URL}/login", self.style.SUCCESS)

    def _say_address(self, user: User, what: str, until: str) -> None:
        self.stderr.write(
            f"{what} {user.email}. The link works once, within {until}:",
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
                raise Invalid("The second factor is already off.", "second_factor")
            who.log(user, "Turned the second factor off.")
        self.stdout.write(
            f"{user.username} now signs in with the password only, and gets a mail about the change.",
            self.style.SUCCESS,
        )

    def _mail_password(self, options: dict[str, Any]) -> None:
        user = user_named(options["username"])
        with acting(options["by"], options["reason"]) as who:
            mail_password(who.on(user.account_id), user)
            who.log(user, "Mailed a password link.")
        self._say_address(user, "A mail is being sent to", "three days")

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


def _add_creation(parser: ArgumentParser) -> None:
    """Add the options of a verb that creates a user."""
    parser.add_argument("username", help="name of the user")
    parser.add_argument("--email", required=True, help="mail address of the user")
    owner = parser.add_mutually_exclusive_group()
    owner.add_argument("--account", metavar="ID", help="id of the user's account, as `account create` prints it")
    owner.add_argument(
        "--staff",
        action="store_true",
        help="create a staff user, who has no account; without --role, the user is a superuser",
    )
    parser.add_argument(
        "--role",
        action="append",
        default=[],
        help="role of a staff user: support, operator, auditor, or a group of your own; can be repeated",
    )
    parser.add_argument(
        "--restricted", action="store_true", help="create a restricted user, who has no permissions without grants"
    )
    parser.add_argument("--by", metavar="STAFF", help="staff user for the log, if the new user is a staff user")


def _add_roles(parser: ArgumentParser) -> None:
    """Add the options of `role`. One of them is required."""
    parser.add_argument("username", help="name of the user")
    roles = parser.add_mutually_exclusive_group(required=True)
    roles.add_argument("--role", action="append", default=[], help="replace all roles by this one; can be repeated")
    roles.add_argument("--superuser", action="store_true", help="give all permissions in the admin")
    roles.add_argument("--none", action="store_true", help="remove all roles")
    add_audit(parser, needs_reason=False)


def _add_filters(parser: ArgumentParser) -> None:
    """Add the options of `list`."""
    users = parser.add_mutually_exclusive_group()
    users.add_argument("--account", metavar="ID", help="list only users of this account")
    users.add_argument("--staff", action="store_true", help="list only staff users")
    add_json(parser)


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
