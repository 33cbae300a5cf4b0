"""Asking an OpenID Connect provider who somebody is: authorization code flow with PKCE, by Authlib.

Knows nothing of users and requests. What a provider says is believed only as far as its ID token, signed with one
of its keys, was made for us and for this one request.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuth2Mixin, OpenIDMixin
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.discovery import get_well_known_url
from joserfc.errors import BadSignatureError, JoseError
from joserfc.jwk import KeySet
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from config.openid import OpenID

T = TypeVar("T")
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""Signatures that need the provider's private key: neither ``none``, nor what our secret could make."""
SKEW = 30
"""Seconds that the provider's clock may be off."""
FRESH_FOR = 3600
"""Seconds that what the provider says of itself, and its keys, are kept for."""
PAUSE = 30
"""Seconds for which a provider is not asked that has kept us waiting."""
BIGGEST = 512 * 1024
"""Bytes of an answer that are read."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
MAX_SUBJECT_LENGTH = 255
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


class Bounded(HTTPAdapter):
    """Takes in the beginning of an answer, before the library would take in all of it, however long."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        response = super().send(request, *args, **kwargs)
        begun = response.raw.read(BIGGEST + 1, decode_content=True)
        response.close()
        if len(begun) > BIGGEST:
            raise Untrusted(f"more than {BIGGEST} bytes from {response.url}")
        response.raw = BytesIO(begun)
        return response


class Session(OAuth2Session):
    """Authlib's, with bounded answers, and nothing sent along a redirect."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for scheme in ("https://", "http://"):
            self.mount(scheme, Bounded())

    def request(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        return super().request(method, url, **{**kwargs, "allow_redirects": False})


class Client(OAuth2Mixin, OpenIDMixin):
    """Authlib's client of one provider, which keeps its description and its keys; `_client` says for how long.

    Its methods may run in several threads at once: once it is published nothing changes but the keys, as a whole.
    """

    client_cls = Session

    def __init__(self, config: OpenID):
        super().__init__(
            framework=None,  # which would only hear of refreshed tokens
            client_id=config.client_id,
            client_secret=config.client_secret,
            server_metadata_url=get_well_known_url(config.issuer, external=True),
            client_kwargs={
                "scope": " ".join(config.scopes),
                "code_challenge_method": "S256",
                "default_timeout": config.timeout,
            },
        )
        self.config = config
        self.at = time.monotonic()
        self.names_itself = False
        """Whether its answers always name the issuer (RFC 9207)."""

    def discover(self) -> None:
        """Fetch what the provider says of itself, and keep what is asked of it here.

        Authlib hands all that it keeps to its sessions, where other names (``verify``, ``proxies``,
        ``code_challenge_method``) would be options.
        """
        found = self.load_server_metadata()
        if found.get("issuer") != self.config.issuer:
            raise Untrusted(f"it says that its issuer is {found.get('issuer')!r}")
        scheme = urlsplit(self.config.issuer).scheme
        for name in ENDPOINTS:
            parts = urlsplit(found[name])
            if parts.scheme not in ("https", scheme) or not parts.netloc:
                raise Untrusted(f"its {name} is {found[name]!r}")
        self.names_itself = found.get("authorization_response_iss_parameter_supported") is True
        self.server_metadata = {name: found[name] for name in ("issuer", "_loaded_at", *ENDPOINTS)}
        self.server_metadata["id_token_signing_alg_values_supported"] = ALGORITHMS
        # in a form there is one way to write a secret; in a header some providers decode it first, and some do not
        if "client_secret_post" in found.get("token_endpoint_auth_methods_supported", ()):
            self.server_metadata["token_endpoint_auth_method"] = "client_secret_post"

    def fetch_jwk_set(self, force: bool = False) -> dict[str, Any]:
        """Its keys. What can be none is not kept until the next hour."""
        found = super().fetch_jwk_set(force)
        try:
            KeySet.import_key_set(found)
        except MALFORMED:
            self.server_metadata.pop("jwks", None)
            raise
        return found

    def claims(self, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """What the ID token of `token` claims, if one of the provider's keys signed it, for us and for `nonce`."""
        were_known = "jwks" in self.server_metadata
        try:
            return self._claims(token, nonce)
        except BadSignatureError:
            if not were_known:
                raise
        self.fetch_jwk_set(force=True)  # a new key may have the name of an old one
        return self._claims(token, nonce)

    def _claims(self, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        expected = {
            "iss": {"essential": True, "value": self.config.issuer},
            "aud": {"essential": True, "value": self.config.client_id},
        }
        # no class of claims is named: with one, Authlib would not hold `at_hash` against the access token
        found = self.parse_id_token(token, nonce, expected, leeway=SKEW)
        if found is None:
            raise Untrusted("there is no ID token")
        return found


_known: dict[OpenID, Client] = {}
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
    made = _client(config).create_authorization_url(
        redirect_uri, state=generate_token(32), nonce=generate_token(32), code_verifier=generate_token(64)
    )
    return Question(made["url"], made["state"], made["nonce"], made["code_verifier"])


def _answer(
    config: OpenID, redirect_uri: str, code: str, issuer: str | None, nonce: str, verifier: str
) -> Identity:
    client = _client(config)
    # the address may name whose answer it is (RFC 9207), and does so always where the provider says that
    if issuer != config.issuer and (issuer is not None or client.names_itself):
        raise Untrusted(f"the address names the issuer {issuer!r:.200}")
    token = client.fetch_access_token(redirect_uri, code=code, code_verifier=verifier)
    return _identity(config, client.claims(token, nonce))


def _client(config: OpenID) -> Client:
    """The client of a provider, with what the provider said of itself within the hour."""
    known = _known.get(config)
    if known is None or time.monotonic() - known.at >= FRESH_FOR:
        known = Client(config)
        known.discover()
        _known[config] = known
    return known


def _identity(config: OpenID, claims: dict[str, Any]) -> Identity:
    subject = claims.get(config.claim)
    if not isinstance(subject, str) or not subject.isprintable() or not 0 < len(subject) <= MAX_SUBJECT_LENGTH:
        raise Untrusted(f"the claim {config.claim} is {subject!r:.80}")
    if config.claim == "email" and claims.get("email_verified") is not True:
        raise Untrusted("the email address is not verified")
    names = (claims.get(name) for name in ("preferred_username", "email", "name"))
    label = next((name for name in names if isinstance(name, str) and name), subject)
    return Identity(config.issuer, subject, "".join(filter(str.isprintable, label))[:128])
