"""The OpenID Connect provider that people may sign in with, read from the environment."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from config.environment.variables import BadVariable, Environment

NEEDED = ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET")
NAME, SCOPES, CLAIM, TYPE, TIMEOUT = "single sign-on", ("openid", "profile", "email"), "sub", "github", 5.0
MAX_ISSUER_LENGTH = 255
_TYPE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OpenID:
    """A provider, and the platform's credentials as its client.

    `name` is the provider's name for people. `claim` is the claim of its ID tokens that identifies a person
    permanently. `authentication_type` is the value of that field in the profiles of people who sign in with it.
    `timeout` is the maximum seconds for one visit to the provider.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str = NAME
    scopes: tuple[str, ...] = SCOPES
    claim: str = CLAIM
    authentication_type: str = TYPE
    timeout: float = TIMEOUT


def read(env: Environment, *, production: bool) -> OpenID | None:
    """Return the provider of the variables ``OIDC_*``, or None if none of `NEEDED` is set.

    Raises `BadVariable`, naming the missing or wrong variable, if some are set but the provider cannot be used.
    """
    given = {name: env.text(name) for name in NEEDED}
    if not any(given.values()):
        return None
    if missing := [name for name, value in given.items() if not value]:
        raise BadVariable(missing[0], f"signing in with a provider needs {', '.join(NEEDED)}: all three or none")
    found = OpenID(
        issuer=given["OIDC_ISSUER"],
        client_id=given["OIDC_CLIENT_ID"],
        client_secret=given["OIDC_CLIENT_SECRET"],
        name=env.text("OIDC_NAME", NAME),
        scopes=tuple(env.text("OIDC_SCOPES").split()) or SCOPES,
        claim=env.text("OIDC_CLAIM", CLAIM),
        authentication_type=env.text("OIDC_AUTHENTICATION_TYPE", TYPE),
        timeout=env.number("OIDC_TIMEOUT", TIMEOUT),
    )
    _check(found, production)
    return found


def _check(found: OpenID, production: bool) -> None:
    try:
        parts = urlsplit(found.issuer)
        right = parts.scheme in ("https", "http") and parts.netloc and not (parts.query or parts.fragment)
    except ValueError:
        right = False
    if not right:
        raise BadVariable("OIDC_ISSUER", f"{found.issuer!r} is not an address such as https://id.example.com")
    if len(found.issuer) > MAX_ISSUER_LENGTH:
        raise BadVariable("OIDC_ISSUER", f"must have at most {MAX_ISSUER_LENGTH} characters")
    if production and not found.issuer.startswith("https:"):
        raise BadVariable("OIDC_ISSUER", "must begin with https:// in production")
    if "openid" not in found.scopes:
        raise BadVariable("OIDC_SCOPES", "must contain openid")
    if not _TYPE.fullmatch(found.authentication_type) or found.authentication_type == "password":
        raise BadVariable(
            "OIDC_AUTHENTICATION_TYPE", "must be up to 32 lower-case letters, digits, - and _, and not password"
        )
    for name, value in (("OIDC_NAME", found.name), ("OIDC_CLAIM", found.claim)):
        if not value.strip():
            raise BadVariable(name, "must not be empty")
