"""``manage.py create_token USERNAME``: a personal access token for scripts, alone on a line."""

from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from accounts.management.people import acting, add_audit
from accounts.models import User
from accounts.scopes import read_scopes
from accounts.services.token_links import make_link
from accounts.services.tokens import create_token
from config import word
from config.errors import Invalid
from config.processes.command_errors import refused


class Command(BaseCommand):
    help = (
        "Create a personal access token and print it on a line of its own. The token cannot be read again. With "
        "--link, print a link instead: the first person who opens the link gets the token."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="name of the user")
        parser.add_argument(
            "--scopes", default="*", help=f'such as "{word.on_wire("computes:read_write")}"; * means all scopes'
        )
        parser.add_argument(
            "--expiry", help="time in UTC, such as 2030-01-31T12:00:00; by default the token does not expire"
        )
        parser.add_argument("--label", default="create_token", help="label of the token (default: create_token)")
        parser.add_argument(
            "--link",
            action="store_true",
            help="print a link that shows the token once, to give to another person",
        )
        add_audit(parser, needs_reason=False)

    def handle(
        self,
        *,
        username: str,
        scopes: str,
        expiry: str | None,
        label: str,
        link: bool,
        by: str | None,
        reason: str,
        **options: Any,
    ) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"username: There is no user {username!r}.")
        if user.account_id is None:
            raise CommandError(f"username: {username!r} has no account. A token needs an account.")
        if word.IS_SET:
            try:
                scopes = " ".join(read_scopes(scopes))
            except ValueError as error:
                raise CommandError(f"scopes: {error}") from None
        if link:
            with acting(by, reason) as who:
                actor = who.on(user.account_id)
                made, address = make_link(actor, user, label, scopes, _moment(expiry), who.reason)
                who.log(
                    user, f"Made a link to a token, {label}, that works until {made.expiry:%Y-%m-%d %H:%M} UTC."
                )
            self.stdout.write(address)
            return
        if by is not None or reason:
            field = "by" if by is not None else "reason"
            raise CommandError(f"{field}: Give it with --link: without a link, no event records it.")
        try:
            _, readable = create_token(user, label, scopes, _moment(expiry))
        except Invalid as error:
            raise refused(error) from error
        self.stdout.write(readable)


def _moment(text: str | None) -> datetime | None:
    """Return a time in the format of the API, or None."""
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise CommandError(f"expiry: {text!r} is not a time such as 2030-01-31T12:00:00.")
    return make_aware(moment) if is_naive(moment) else moment
