"""``manage.py use_password USERNAME``: a password for a user whose provider is gone or down."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.actors import Actor
from accounts.models import User
from accounts.services.external import untie
from config.errors import Invalid
from config.processes.command_errors import refused


class Command(BaseCommand):
    help = (
        "Disconnect a user from the external sign-in provider. The user gets a mail with a link to choose a "
        "password. The link is also printed, on a line of its own."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="name of the user")

    def handle(self, *, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"username: There is no user {username!r}.")
        actor = Actor.platform(user.account_id) if user.account_id is not None else None
        try:
            path = untie(actor, user)
        except Invalid as error:
            raise refused(error) from error
        self.stdout.write(settings.SITE_URL + path)
