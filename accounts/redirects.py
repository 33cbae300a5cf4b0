"""The redirect addresses of OAuth clients: which are valid, and which are registered."""

import re
from urllib.parse import urlsplit

MAX_URI_LENGTH = 2000
_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]))(?::[0-9]{1,5})?((?:[/?].*)?)")


def check_redirect_uri(uri: str) -> str | None:
    """The reason why `uri` is no redirect address, or None where it is one: an absolute web address without
    credentials and without a fragment (RFC 6749, 3.1.2)."""
    if len(uri) > MAX_URI_LENGTH or not uri.isascii() or any(char.isspace() for char in uri):
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
    return None


def is_registered(uri: str, registered: str) -> bool:
    """Whether `uri` is one of the space-separated `registered` addresses, letter for letter (RFC 9700, 2.1).

    Loopback addresses match with any port: apps on the user's own machine take a free one (RFC 8252, 7.3).
    """
    return any(uri == known or _same_but_for_port(uri, known) for known in registered.split())


def _same_but_for_port(uri: str, known: str) -> bool:
    here, there = _LOOPBACK.fullmatch(uri), _LOOPBACK.fullmatch(known)
    return here is not None and there is not None and here.groups() == there.groups()
