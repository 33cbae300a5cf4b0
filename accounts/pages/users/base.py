"""Base classes of the pages about one user of the account."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.utils.timezone import now

from accounts.models import User
from accounts.pages.account_objects import AccountObjectPage
from accounts.pages.confirm import Confirmed
from accounts.pages.objects import ObjectFormPage, Tab
from accounts.services.users import has_open_invitation
from config.pages.grants import UNRESTRICTED

OVERVIEW, GRANTS = "user", "user-grants"


def invitation_expires(user: User) -> datetime | None:
    """Return the time at which the address in a user's invitation expires, or None if it is not open any more."""
    expires = user.date_joined + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    return expires if has_open_invitation(user) and expires > now() else None


class UserPage(AccountObjectPage):
    """A page about one user of the account."""

    model = User
    noun = "users"
    home = OVERVIEW
    parameter = "user_id"
    grant = write_grant = UNRESTRICTED
    tab_pages = ((OVERVIEW, "Overview"), (GRANTS, "Grants"))

    def tabs(self) -> Iterator[Tab]:
        """Yield the tabs. An unrestricted user has no grants."""
        return (tab for tab in super().tabs() if self.object.restricted or tab.label != "Grants")


class UserFormPage(UserPage, ObjectFormPage, Confirmed):
    """A page with a form about a user. The page asks for the password first: its form can give somebody access."""

    tab: ClassVar[str] = OVERVIEW
    expensive = True
