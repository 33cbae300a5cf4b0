"""Known browsers: browsers in which a user has signed in before. Their attempts count apart from other browsers.

So a person who tries names from the same address locks no user out of the user's own browser. A known browser gives
no access: it needs the password, and its second factor, like any other (see `remembered_browsers`).
"""

import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.models import User

COOKIE = "skerry_known"
KNOWN_FOR = timedelta(days=365)
MAX_KNOWN_USERS = 5
"""The maximum number of users for whom a browser is known: the ones who signed in last."""
ENTRY_PATTERN = re.compile(r"([\w-]{22})\.([0-9a-f]{64})", re.ASCII)


def known_as(request: HttpRequest, name: str) -> str | None:
    """Return the subject for limits on attempts of this browser at a user's name (``browser:…``).

    None if the user has not signed in here. `name` is casefolded, and need not exist: there is no query.
    """
    for number, proof in _entries(request):
        if constant_time_compare(proof, _proof(number, name)):
            return f"browser:{number}"
    return None


def note_known(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Give this browser, in which `user` has just signed in, a proof of it.

    The cookie does not contain the name.
    """
    name = user.username.casefold()
    others = [each for each in _entries(request) if not constant_time_compare(each[1], _proof(each[0], name))]
    number = secrets.token_urlsafe(16)
    entries = [(number, _proof(number, name)), *others][:MAX_KNOWN_USERS]
    response.set_cookie(
        COOKIE,
        "~".join(map(".".join, entries)),
        max_age=KNOWN_FOR,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def _entries(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the number and the proof of each user in the browser's cookie."""
    found = map(ENTRY_PATTERN.fullmatch, request.COOKIES.get(COOKIE, "").split("~")[:MAX_KNOWN_USERS])
    return [(each[1], each[2]) for each in found if each]


def _proof(number: str, name: str) -> str:
    return salted_hmac(COOKIE, f"{number}:{name}", algorithm="sha256").hexdigest()
