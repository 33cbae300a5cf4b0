"""The redirect addresses of OAuth clients: their validation, their registration, and adding an answer to them."""

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
"""Parameters that only the server may put into an answer."""


def check_redirect_uri(uri: str) -> str | None:
    """Return the reason why `uri` is not valid as a redirect address, or None if it is valid.

    It must be an absolute web address without credentials and without a fragment (RFC 6749, 3.1.2), in the
    characters of RFC 3986. The characters are checked by oauthlib's own rule, so that ``/oauth/authorize`` accepts
    every address that passes.
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
    """Tell whether `uri` is one of the space-separated `registered` addresses, or adds parameters to the query of
    one.

    Scheme, host, port and path must match exactly. Added parameters must not repeat a parameter of the registered
    address or look like a part of the answer. An app reads one of two parameters with the same name, and an
    attacker may have put that one there (RFC 9700, 4.1). Loopback addresses match with any port: apps on the user's
    own machine use a free one (RFC 8252, 7.3).
    """
    return any(_extends(uri, known) for known in registered.split())


def with_answer(uri: str, answer: Iterable[tuple[str, str]], fragment: bool = False) -> str:
    """Return the redirect address with the parameters of an answer after its query or, as a `fragment`, after
    ``#``.

    The original address is not changed at all. Parsing and writing would change a query: ``%20`` becomes ``+``, and
    bytes that are no UTF-8 are lost.
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
    """Return the character between an address and parameters that are added to it."""
    return "" if uri.endswith(("?", "&")) else "&" if "?" in uri else "?"


def _without_port(uri: str) -> str:
    """Return a loopback address without its port, and any other address unchanged."""
    loopback = _LOOPBACK.fullmatch(uri)
    return "".join(loopback.groups()) if loopback else uri


def _names(query: str) -> set[str]:
    return {name for name, _ in parse_qsl(query, keep_blank_values=True)}
