"""Identifies people by an OpenID Connect provider: authorization code flow with PKCE, by Authlib.

This module knows neither users nor requests. It trusts a provider's claims only if the ID token is signed with one
of the provider's keys. The ID token must also be issued for this client and for this one request.
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

from config.environment.openid import OpenID

T = TypeVar("T")
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
"""Signatures that need the provider's private key. ``none`` and signatures with the client secret are refused."""
MAX_SKEW_SECONDS = 30
"""The maximum difference in seconds between the provider's clock and ours."""
FRESH_FOR = 3600
"""Seconds for which a provider's description and keys are cached."""
PAUSE_SECONDS = 30
"""Seconds without further requests to a provider that was slow to answer."""
MAX_ANSWER_SIZE = 512 * 1024
"""The maximum number of bytes in a provider's answer. A longer one is refused."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
MAX_SUBJECT_LENGTH = 255
"""The maximum number of characters in a subject, as the protocol defines it."""
MALFORMED = (
    JoseError, AuthlibBaseError,
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip
"""The exceptions that the libraries raise at malformed tokens, keys and documents."""


class ProviderError(Exception):
    """The provider gave no identity. The text is only for the log: it may quote input from outside."""


class Unreachable(ProviderError):
    """The provider gave no answer, or none in time."""


class Untrusted(ProviderError):
    """The provider's answer breaks the protocol, or does not match our request."""


@dataclass(frozen=True, slots=True)
class Question:
    """An authorization request: the `url` to send a browser to, and the values that its answer must match."""

    url: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Identity:
    """A person's identity at a provider.

    `label` is the person's name there, only for display and never compared.
    """

    issuer: str
    subject: str
    label: str


class Bounded(HTTPAdapter):
    """Reads at most `MAX_ANSWER_SIZE` bytes of an answer: the library would read everything.

    Raises `Untrusted` beyond that.
    """

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        response = super().send(request, *args, **kwargs)
        begun = response.raw.read(MAX_ANSWER_SIZE + 1, decode_content=True)
        response.close()
        if len(begun) > MAX_ANSWER_SIZE:
            raise Untrusted(f"more than {MAX_ANSWER_SIZE} bytes from {response.url}")
        response.raw = BytesIO(begun)
        return response


class Session(OAuth2Session):
    """Authlib's session, with bounded answers and without redirects."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for scheme in ("https://", "http://"):
            self.mount(scheme, Bounded())

    def request(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        return super().request(method, url, **{**kwargs, "allow_redirects": False})


class Client(OAuth2Mixin, OpenIDMixin):
    """Authlib's client of one provider.

    It caches the provider's description and keys, for the time that `_client` sets. Several threads may call its
    methods at once: after its creation only the keys change, as a whole.
    """

    client_cls = Session

    def __init__(self, config: OpenID):
        super().__init__(
            framework=None,  # it would be called only for refreshed tokens
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
        """Whether the provider's answers always name the issuer (RFC 9207)."""

    def discover(self) -> None:
        """Fetch the provider's description, and keep only the fields that are used here.

        Authlib passes every field that it keeps to its sessions. A session would read some fields (``verify``,
        ``proxies``, ``code_challenge_method``) as options.
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
        # A form has one way to write a secret. In a header, some providers decode it first, and some do not.
        if "client_secret_post" in found.get("token_endpoint_auth_methods_supported", ()):
            self.server_metadata["token_endpoint_auth_method"] = "client_secret_post"

    def fetch_jwk_set(self, force: bool = False) -> dict[str, Any]:
        """Return the provider's keys. A malformed key set raises, and is not cached."""
        found = super().fetch_jwk_set(force)
        try:
            KeySet.import_key_set(found)
        except MALFORMED:
            self.server_metadata.pop("jwks", None)
            raise
        return found

    def claims(self, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """Return the claims of the ID token in `token`, if it is signed by the provider, for this client and for
        `nonce`.
        """
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
        # No claims class is given: with one, Authlib would not check `at_hash` against the access token.
        found = self.parse_id_token(token, nonce, expected, leeway=MAX_SKEW_SECONDS)
        if found is None:
            raise Untrusted("there is no ID token")
        return found


_known: dict[OpenID, Client] = {}
_silent_until: dict[str, float] = {}


def forget() -> None:
    """Drop the cached clients of all providers, and the pauses after slow answers."""
    _known.clear()
    _silent_until.clear()


def ask(config: OpenID, redirect_uri: str) -> Question:
    """Begin an authorization request. The browser is then sent to the provider. Raises `ProviderError`."""
    return _run_with_timeout(config, lambda: _ask(config, redirect_uri))


def answer(config: OpenID, redirect_uri: str, code: str, issuer: str | None, nonce: str, verifier: str) -> Identity:
    """Return the identity of the person who came back with `code`, and with the `issuer` from the address.

    `nonce` and `verifier` come from the `Question`. Raises `ProviderError`.
    """
    return _run_with_timeout(config, lambda: _answer(config, redirect_uri, code, issuer, nonce, verifier))


def _run_with_timeout(config: OpenID, work: Callable[[], T]) -> T:
    """Return the result of `work`. Raises `Unreachable` after ``config.timeout`` seconds.

    It then raises at once for the next `PAUSE_SECONDS`: each such wait takes a thread of a web process. Socket
    timeouts restart with every byte, and name look-ups have none. So `work` runs in a thread that is abandoned
    after the timeout. It ends by the socket timeouts and the limit of size. `work` must not use the database.
    """
    began = time.monotonic()
    if began < _silent_until.get(config.issuer, 0):
        raise Unreachable("it did not answer a moment ago")
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
    except (OSError, HTTPError) as error:  # of requests and the sockets, and of urllib3 between the two
        if time.monotonic() - began > config.timeout / 2:
            _silent_until[config.issuer] = time.monotonic() + PAUSE_SECONDS
        reason = str(error) or f"no answer within {config.timeout:g} seconds"
        raise Unreachable(f"{type(error).__name__}: {reason}") from error
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
    # The address may name the issuer (RFC 9207), and must do so if the provider's description says so.
    if issuer != config.issuer and (issuer is not None or client.names_itself):
        raise Untrusted(f"the address names the issuer {issuer!r:.200}")
    token = client.fetch_access_token(redirect_uri, code=code, code_verifier=verifier)
    return _identity(config, client.claims(token, nonce))


def _client(config: OpenID) -> Client:
    """Return the client of a provider. It is made again if the description is older than `FRESH_FOR` seconds."""
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
