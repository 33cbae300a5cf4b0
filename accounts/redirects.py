"""Where an OAuth client may have its users sent back to."""

from urllib.parse import urlsplit

LONGEST = 2000


def check_redirect_uri(uri: str) -> str | None:
    """Why an address is none to go back to, or None where it is one: of the web, absolute, without credentials and
    without a fragment (RFC 6749, 3.1.2)."""
    if len(uri) > LONGEST or not uri.isascii() or any(char.isspace() for char in uri):
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
