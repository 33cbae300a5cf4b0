"""Authentication by bearer tokens: personal tokens and OAuth access tokens, each found with one SQL statement."""

import hashlib
import re
from dataclasses import dataclass

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from accounts.actors import Actor
from accounts.models import GlobalGrants
from accounts.scopes import split_scopes
from config.db.prepared import fetch

INVALID = "Invalid Token"
PERSONAL = re.compile(r"[0-9a-f]{64}")
MAX_TOKEN_LENGTH = 512

GRANTS = GlobalGrants.names()

# Handwritten, because every request begins with it: no model instances, and one plan, prepared once per connection.
_CALLER_COLUMNS = f"""
       u.id, u.username, u.restricted, u.account_id, g.account_access, {", ".join(f"g.{name}" for name in GRANTS)}
"""
_ACTIVE = """
  JOIN accounts_account a ON a.id = u.account_id AND a.is_active
  LEFT JOIN accounts_globalgrants g ON g.user_id = u.id AND u.restricted
"""
_PERSONAL = f"""
SELECT t.id, t.scopes, c.client_id, {_CALLER_COLUMNS}
  FROM accounts_personaltoken t
  JOIN accounts_user u ON u.id = t.user_id AND u.is_active {_ACTIVE}
  LEFT JOIN accounts_oauthclient c ON c.id = t.client_id
  LEFT JOIN accounts_account o ON o.id = c.account_id
 WHERE t.digest = %s AND (t.expiry IS NULL OR t.expiry > statement_timestamp())
   AND (t.client_id IS NULL OR (c.status = 'active' AND o.is_active IS NOT FALSE))
"""  # noqa: S608 - made of the constants above
_OAUTH = f"""
SELECT t.id, t.scope, c.client_id, {_CALLER_COLUMNS}
  FROM accounts_oauthaccesstoken t
  JOIN accounts_oauthclient c ON c.id = t.application_id AND c.status = 'active'
  LEFT JOIN accounts_account o ON o.id = c.account_id
  JOIN accounts_user u ON u.id = t.user_id AND u.is_active {_ACTIVE}
 WHERE t.token_checksum = %s AND t.expires > statement_timestamp() AND o.is_active IS NOT FALSE
"""  # noqa: S608 - made of the constants above


@dataclass(frozen=True, slots=True)
class Token:
    """The token of a request: the `id` of its row, and whether it is a personal token or an OAuth client's."""

    id: int
    personal: bool


class BearerAuthentication(BaseAuthentication):
    """``Authorization: Bearer <token>``. Returns the `Actor` and the `Token`.

    Without the header the caller is anonymous, and only public endpoints answer. A header without a valid token of
    an active user of an active account answers 401 ``Invalid Token``, whatever the cause.
    """

    def authenticate(self, request: HttpRequest) -> tuple[Actor, Token] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > MAX_TOKEN_LENGTH:
            raise AuthenticationFailed(INVALID)
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        row = _find(_PERSONAL, digest) if PERSONAL.fullmatch(token) else None
        personal = row is not None
        row = row or _find(_OAUTH, digest)
        if row is None:
            raise AuthenticationFailed(INVALID)
        return _actor(row), Token(row[0], personal)

    def authenticate_header(self, request: HttpRequest) -> str:
        return "Bearer"


def _find(sql: str, digest: str) -> tuple | None:
    rows = fetch(sql, (digest,))
    return rows[0] if rows else None


def _actor(row: tuple) -> Actor:
    _, scopes, client_id, user_id, username, restricted, account_id, access, *given = row
    grants = frozenset(name for name, on in zip(GRANTS, given, strict=True) if on) if restricted else frozenset()
    return Actor(
        account_id=account_id,
        user_id=user_id,
        username=username,
        restricted=restricted,
        scopes=split_scopes(scopes),
        account_access=access,
        grants=grants,
        client_id=client_id,
    )
