"""The OpenID Connect provider that people may sign in with, as the environment describes it."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from environs import Env

NEEDED = ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET")
NAME, SCOPES, CLAIM, TYPE, TIMEOUT = "single sign-on", ("openid", "profile", "email"), "sub", "github", 5.0
LONGEST = 255
_TYPE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OpenID:
    """A provider, and who we are to it.

    `name` is how people know it; `claim` the claim of its ID tokens that tells people apart for ever;
    `authentication_type` what the profile of those who sign in with it says; `timeout` in seconds, for one visit.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str = NAME
    scopes: tuple[str, ...] = SCOPES
    claim: str = CLAIM
    authentication_type: str = TYPE
    timeout: float = TIMEOUT


def read(env: Env, *, production: bool) -> OpenID | None:
    """The provider of the variables ``OIDC_*``, None where there are none.

    Raises `ImproperlyConfigured`, with what is missing or wrong, where there are some but it cannot be used.
    """
    given = {name: env.str(name, "") for name in NEEDED}
    if not any(given.values()):
        return None
    if missing := [name for name, value in given.items() if not value]:
        raise ImproperlyConfigured(f"Signing in with a provider also needs {' and '.join(missing)}.")
    found = OpenID(
        issuer=given["OIDC_ISSUER"],
        client_id=given["OIDC_CLIENT_ID"],
        client_secret=given["OIDC_CLIENT_SECRET"],
        name=env.str("OIDC_NAME", NAME),
        scopes=tuple(env.str("OIDC_SCOPES", "").split()) or SCOPES,
        claim=env.str("OIDC_CLAIM", CLAIM),
        authentication_type=env.str("OIDC_AUTHENTICATION_TYPE", TYPE),
        timeout=env.float("OIDC_TIMEOUT", TIMEOUT),
    )
    _check(found, production)
    return found


def _check(found: OpenID, production: bool) -> None:
    parts = urlsplit(found.issuer)
    if parts.scheme not in ("https", "http") or not parts.netloc or parts.query or parts.fragment:
        raise ImproperlyConfigured("OIDC_ISSUER must be an address such as https://id.example.com.")
    if len(found.issuer) > LONGEST:
        raise ImproperlyConfigured(f"OIDC_ISSUER must have at most {LONGEST} characters.")
    if production and parts.scheme != "https":
        raise ImproperlyConfigured("OIDC_ISSUER must begin with https:// in production.")
    if "openid" not in found.scopes:
        raise ImproperlyConfigured("OIDC_SCOPES must contain openid.")
    if not _TYPE.fullmatch(found.authentication_type) or found.authentication_type == "password":
        raise ImproperlyConfigured(
            "OIDC_AUTHENTICATION_TYPE must be up to 32 lower-case letters, digits, - and _, and not password."
        )
    if not found.name.strip() or not found.claim.strip():
        raise ImproperlyConfigured("OIDC_NAME and OIDC_CLAIM must not be empty.")
    if found.timeout <= 0:
        raise ImproperlyConfigured("OIDC_TIMEOUT must be more than 0 seconds.")
