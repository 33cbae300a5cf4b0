"""The redirect addresses of OAuth clients: which are valid, which are registered, and how they take an answer."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from oauthlib.uri_validate import is_absolute_uri

MAX_URI_LENGTH = 2000
_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]))(?::[0-9]{1,5})?((?:[/?].*)?)")
OF_THE_ANSWER = frozenset(
    (
        "code", "state", "error", "error_description", "error_uri", "iss",
        "access_token", "token_type", "expires_in", "scope", "refresh_token", "id_token",
    )
)  # fmt: skip
"""Parameters that nobody but the server may put into an answer."""


def check_redirect_uri(uri: str) -> str | None:
    """The reason why `uri` is no redirect address, or None where it is one: an absolute web address without
    credentials and without a fragment (RFC 6749, 3.1.2), in the characters of RFC 3986.

    The last is by oauthlib's own rule: an address that passes here is one that ``/oauth/authorize`` takes.
    """
    if len(uri) > MAX_URI_LENGTH or not uri.isascii() or not uri.isprintable() or " " in uri:
        return "redirect_uri is not valid"
    try:
        parts = urlsplit(uri)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return "redirect_uri is not valid"
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        return "redirect_uri is not valid"
    if "#" in uri:
        return "redirect_uri must have no fragment"
    return None if is_absolute_uri(uri) else "redirect_uri is not valid"


def is_registered(uri: str, registered: str) -> bool:
    """Whether `uri` is one of the space-separated `registered` addresses, letter for letter, to whose query it may
    add parameters: scheme, host, port and path are the same.

    What is added can neither repeat a parameter of the registered address nor look like a part of the answer: an
    app reads one of two parameters of a name, and it may be the one that an attacker put there (RFC 9700, 4.1).
    Loopback addresses match with any port: apps on the user's own machine take a free one (RFC 8252, 7.3).
    """
    return any(_extends(uri, known) for known in registered.split())


def with_answer(uri: str, answer: Iterable[tuple[str, str]], fragment: bool = False) -> str:
    """The redirect address with the parameters of an answer behind its query or, as a `fragment`, behind its ``#``.

    What it had stays to the letter. Parsed and written again, a query comes out in other words: ``+`` for ``%20``,
    and what is no UTF-8 not at all.
    """
    if fragment:
        return f"{uri}#{urlencode(list(answer))}"
    return f"{uri}{_glue(uri)}{urlencode(list(answer))}"


def _extends(uri: str, known: str) -> bool:
    mine, theirs = _without_port(uri), _without_port(known)
    if mine == theirs:
        return True
    start = theirs + _glue(theirs)
    if not mine.startswith(start):
        return False
    taken = OF_THE_ANSWER | _names(theirs.partition("?")[2])
    return check_redirect_uri(uri) is None and taken.isdisjoint(_names(mine.removeprefix(start)))


def _glue(uri: str) -> str:
    """The character between an address and parameters that are added to it."""
    return "" if uri.endswith(("?", "&")) else "&" if "?" in uri else "?"


def _without_port(uri: str) -> str:
    """A loopback address without its port, any other address as it is."""
    loopback = _LOOPBACK.fullmatch(uri)
    return "".join(loopback.groups()) if loopback else uri


def _names(query: str) -> set[str]:
    return {name for name, _ in parse_qsl(query, keep_blank_values=True)}
