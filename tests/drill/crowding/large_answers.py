"""Pages and lists of many rows: grants of a user of a large account, and staff's searches and files."""

from contextlib import AbstractContextManager

from django.conf import settings
from django.test import Client

from accounts.models import User
from tests.drill.crowding.attacker import Attacker
from tests.drill.crowding.load import api, request

PAUSE_SECONDS = 0.25
FILES = 4
"""One in this many requests is for a file of all domains. The others are searches."""


def grants(attacker: Attacker) -> AbstractContextManager[None]:
    """Request the grants of a restricted user of a large account, four times a second."""
    attacker.add_domains()
    name = f"{attacker.name}-restricted"
    attacker.made("/account/users", {"username": name, "email": f"{name}@example.com", "restricted": True})
    get = api(attacker.token, "GET", f"/account/users/{name}/grants")
    return attacker.sending([get] * attacker.form.pages, PAUSE_SECONDS)


def staff(attacker: Attacker) -> AbstractContextManager[None]:
    """Request searches in the admin, and its list of domains as a file: four requests a second together."""
    attacker.add_domains()
    name = f"{attacker.name}-staff"
    browser = Client()
    browser.force_login(User.objects.create_superuser(name, f"{name}@example.com"))
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"

    def get(number: int) -> bytes:
        path = "/admin/compute/domain/csv/" if number % FILES == 0 else f"/admin/search/?q=none-{number}"
        return request("GET", path, Cookie=cookie)

    return attacker.sending([get(number) for number in range(attacker.form.pages)], PAUSE_SECONDS)
