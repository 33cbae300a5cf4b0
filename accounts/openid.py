"""Asking an OpenID Connect provider who somebody is: authorization code flow with PKCE, by Authlib.

Knows nothing of users and requests. What a provider says is believed only as far as its ID token, signed with one
of its keys, was made for us and for this one request.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]
from authlib.common.security import generate_token  # type: ignore[import-untyped]
from authlib.integrations.requests_client import OAuth2Session  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from urllib3.exceptions import HTTPError

from config.openid import OpenID

log = logging.getLogger(__name__)

T = TypeVar("T")
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""Signatures that need the provider's private key: neither ``none``, nor what our secret could make."""
# Providers add headers of their own to the registered ones; critical ones (RFC 7515, 4.1.11) are still refused.
SIGNATURES = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
SKEW = 30
"""Seconds that the provider's clock may be off."""
FRESH_FOR = 3600
"""Seconds that what the provider says of itself, and its keys, are kept for."""
PAUSE = 30
"""Seconds for which a provider is not asked that has kept us waiting."""
BIGGEST = 512 * 1024
"""Bytes of an answer that are read."""
LONGEST = 255
"""Characters of a subject. The protocol has no more."""
MALFORMED = (
    JoseError, AuthlibBaseError,
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
"""What the libraries raise at tokens, keys and documents that are not what they should be."""


class ProviderError(Exception):
    """The provider could not be asked. The text is for the log: it may quote what came from outside."""


class Unreachable(ProviderError):
    """It gave no answer, or none in time."""


class Untrusted(ProviderError):
    """It answered, but not what the protocol, or our request, asks for."""


@dataclass(frozen=True, slots=True)
class Question:
    """A browser on its way to the provider: where to, and what its answer is to be held against."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is to a provider. `label` is what it calls the person, to be shown and never compared."""

    issuer: str
    subject: str
    label: str


@dataclass(slots=True)
class Known:
    """What is kept of a provider: its own description and its keys, and when each was fetched."""

    document: dict[str, Any]
    at: float
    keys: KeySet | None = None
    keys_at: float = 0.0


_known: dict[str, Known] = {}
_silent_until: dict[str, float] = {}


def forget() -> None:
    """Ask every provider anew who it is."""
    _known.clear()
    _silent_until.clear()


def ask(config: OpenID, redirect_uri: str) -> Question:
    """Where to send a browser. Raises `ProviderError`."""
    return _visit(config, lambda: _ask(config, redirect_uri))


def answer(config: OpenID, redirect_uri: str, code: str, issuer: str | None, nonce: str, verifier: str) -> Identity:
    """Who came back with `code`, and the `issuer` that the address named, from a `Question` with this nonce and
    verifier. Raises `ProviderError`."""
    return _visit(config, lambda: _answer(config, redirect_uri, code, issuer, nonce, verifier))


def _visit(config: OpenID, work: Callable[[], T]) -> T:
    """What `work` returns. Raises `Unreachable` after ``config.timeout`` seconds, and for `PAUSE` seconds from then
    on at once: a web process that waits answers nobody else.

    Timeouts of sockets begin anew with every byte, and names are looked up without one. So it runs in a thread,
    which is left to itself then, and ends by the timeouts and the bound of size. It must not use the database.
    """
    began = time.monotonic()
    if began < _silent_until.get(config.issuer, 0):
        raise Unreachable("it kept us waiting a moment ago")
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="openid", daemon=True).start()
    try:
        return done.result(config.timeout)
    except requests.JSONDecodeError as error:
        raise Untrusted(f"not JSON: {error}") from error
    except (OSError, HTTPError) as error:  # of the library above, the sockets below, and the one between
        if time.monotonic() - began > config.timeout / 2:
            _silent_until[config.issuer] = time.monotonic() + PAUSE
        said = str(error) or f"no answer within {config.timeout:g} seconds"
        raise Unreachable(f"{type(error).__name__}: {said}") from error
    except MALFORMED as error:
        raise Untrusted(f"{type(error).__name__}: {error}") from error


def _ask(config: OpenID, redirect_uri: str) -> Question:
    with _session(config, redirect_uri) as session:
        endpoint = _document(config, session)["authorization_endpoint"]
        nonce, verifier = generate_token(32), generate_token(64)
        url, state = session.create_authorization_url(
            endpoint, state=generate_token(32), nonce=nonce, code_verifier=verifier
        )
    return Question(url, state, nonce, verifier)


def _answer(
    config: OpenID, redirect_uri: str, code: str, issuer: str | None, nonce: str, verifier: str
) -> Identity:
    with _session(config, redirect_uri) as session:
        document = _document(config, session)
        _check_issuer(config, document, issuer)
        # in a form there is one way to write a secret; in a header some providers decode it first, and some do not
        if "client_secret_post" in document.get("token_endpoint_auth_methods_supported", ()):
            session.token_endpoint_auth_method = "client_secret_post"
        tokens = session.fetch_token(
            document["token_endpoint"],
            grant_type="authorization_code",
            code=code,
            code_verifier=verifier,
            redirect_uri=redirect_uri,
            allow_redirects=False,
        )
        signed = _verified(tokens["id_token"], config, session)
        held = CodeIDToken(
            signed.claims,
            signed.header,
            {
                "iss": {"essential": True, "value": config.issuer},
                "aud": {"essential": True, "value": config.client_id},
            },
            {"nonce": nonce, "client_id": config.client_id, "access_token": tokens.get("access_token")},
        )
        held.validate(leeway=SKEW)
    return _identity(config, held)


def _session(config: OpenID, redirect_uri: str) -> OAuth2Session:
    session = OAuth2Session(
        config.client_id,
        config.client_secret,
        scope=" ".join(config.scopes),
        redirect_uri=redirect_uri,
        code_challenge_method="S256",
        default_timeout=config.timeout,
    )
    session.hooks["response"].append(_bounded)
    return session


def _bounded(response: requests.Response, **kwargs: Any) -> requests.Response:
    """Take in the beginning of an answer, before the library would take in all of it, however long."""
    response._content = response.raw.read(BIGGEST + 1, decode_content=True)
    response._content_consumed = True  # type: ignore[attr-defined] # what `content` goes by
    response.close()
    if len(response._content or b"") > BIGGEST:
        raise Untrusted(f"more than {BIGGEST} bytes from {response.url}")
    return response


def _document(config: OpenID, session: OAuth2Session) -> dict[str, Any]:
    """What the provider says of itself, and that it is the one that is meant."""
    known = _known.get(config.issuer)
    if known is not None and time.monotonic() - known.at < FRESH_FOR:
        return known.document
    found = _get(session, f"{config.issuer.rstrip('/')}/.well-known/openid-configuration")
    if found.get("issuer") != config.issuer:
        raise Untrusted(f"it says that its issuer is {found.get('issuer')!r}")
    scheme = urlsplit(config.issuer).scheme
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        parts = urlsplit(found[name])
        if parts.scheme not in ("https", scheme) or not parts.netloc:
            raise Untrusted(f"its {name} is {found[name]!r}")
    _known[config.issuer] = Known(found, time.monotonic())
    return found


def _check_issuer(config: OpenID, document: dict[str, Any], said: str | None) -> None:
    """The address may name whose answer it is (RFC 9207), and does so always where the provider says that."""
    always = document.get("authorization_response_iss_parameter_supported") is True
    if said != config.issuer and (said is not None or always):
        raise Untrusted(f"the address names the issuer {said!r:.200}")


def _verified(raw: str, config: OpenID, session: OAuth2Session) -> jwt.Token:
    """The ID token, if one of the provider's keys signed it. A key that is not known is asked for once."""
    known = _known[config.issuer]
    if known.keys is not None and time.monotonic() - known.keys_at < FRESH_FOR:
        try:
            return jwt.decode(raw, known.keys, registry=SIGNATURES)
        except (InvalidKeyIdError, BadSignatureError):
            log.info("the keys of %s are fetched again", config.issuer)
    keys = KeySet.import_key_set(_get(session, known.document["jwks_uri"]))  # type: ignore[arg-type] # it checks
    known.keys, known.keys_at = keys, time.monotonic()
    return jwt.decode(raw, keys, registry=SIGNATURES)


def _get(session: OAuth2Session, url: str) -> dict[str, Any]:
    response = session.get(url, withhold_token=True, allow_redirects=False)
    response.raise_for_status()
    found = response.json()
    if not isinstance(found, dict):
        raise Untrusted(f"no JSON object at {url}")
    return found


def _identity(config: OpenID, claims: dict[str, Any]) -> Identity:
    subject = claims.get(config.claim)
    if not isinstance(subject, str) or not subject.isprintable() or not 0 < len(subject) <= LONGEST:
        raise Untrusted(f"the claim {config.claim} is {subject!r:.80}")
    if config.claim == "email" and claims.get("email_verified") is not True:
        raise Untrusted("the email address is not verified")
    names = (claims.get(name) for name in ("preferred_username", "email", "name"))
    label = next((name for name in names if isinstance(name, str) and name), subject)
    return Identity(config.issuer, subject, "".join(filter(str.isprintable, label))[:128])
