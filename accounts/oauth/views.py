"""The consent page, and the endpoints that clients call themselves."""

import base64
import binascii
import json
import logging
import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import View
from django.views.generic.base import TemplateResponseMixin
from oauth2_provider.views.mixins import OAuthLibMixin
from oauthlib.oauth2.rfc6749.errors import (
    AccessDeniedError,
    FatalClientError,
    InvalidClientIdError,
    InvalidRedirectURIError,
    MismatchingRedirectURIError,
    MissingClientIdError,
    MissingRedirectURIError,
    OAuth2Error,
)

from accounts.models import OAuthClient
from accounts.oauth.validator import TOKEN, may_authorize
from accounts.pages.base import Page
from accounts.redirects import with_answer
from accounts.scopes import describe_all
from accounts.services import attempts
from config import word
from config.display.hidden_characters import visible
from config.web.client_address import network_of

log = logging.getLogger(__name__)


class AuthorizeView(Page, LoginRequiredMixin, OAuthLibMixin, TemplateResponseMixin, View):
    """``/oauth/authorize``: GET asks the user for consent, POST is the user's answer.

    The form contains the parameters of the request, and the answer is checked like the request: the user grants
    exactly the scopes that the page showed. Users are asked each time, whatever they granted before.
    """

    template_name = "accounts/consent.html"
    PARAMETERS = (
        "client_id", "response_type", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method",
    )  # fmt: skip

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._respond(request, request.GET, self._ask)

    def post(self, request: HttpRequest) -> HttpResponse:
        return self._respond(request, request.POST, self._answer)

    def _respond(
        self, request: HttpRequest, parameters: QueryDict, act: Callable[[str, list[str], dict], HttpResponse]
    ) -> HttpResponse:
        if not may_authorize(request.user):
            return self._refuse("Your user cannot give apps access: it has no active account.", 403)
        # oauthlib reads the parameters from an address. It refuses repeated ones itself.
        query = urlencode([(name, value) for name in self.PARAMETERS for value in parameters.getlist(name)])
        uri = f"{request.path}?{query}"
        try:
            scopes, wish = self.get_oauthlib_core().server.validate_authorization_request(uri)
            return act(uri, scopes, wish)
        except FatalClientError as error:
            # The client or its redirect address is unknown: the user sees an error page, and no redirect.
            return self._refuse(_reason(error), 400, error.description or error.error)
        except OAuth2Error as error:
            # A client that requests a token reads it, and errors too, after the # of the address.
            return HttpResponseRedirect(
                with_answer(error.redirect_uri, error.twotuples, fragment=error.response_type == TOKEN)
            )

    def _ask(self, uri: str, scopes: list[str], wish: dict) -> HttpResponse:
        client = wish["request"].client
        context = {
            "name": _shown(client),
            # On this very site, whatever SITE_URL says: the page's policy allows no other pictures.
            "picture": f"/v4/account/oauth-clients/{client.client_id}/thumbnail" if client.thumbnail else None,
            "site": urlsplit(wish["redirect_uri"]).netloc,
            "allowances": describe_all(scopes),
            "parameters": wish["request"].uri_query_params,
        }
        return self.render_to_response(context)

    @transaction.atomic
    def _answer(self, uri: str, scopes: list[str], wish: dict) -> HttpResponse:
        if "allow" not in self.request.POST:
            raise AccessDeniedError(request=wish["request"])
        asked = list(map(word.on_wire, scopes))  # the validator reads them again, as the client sent them
        headers, _, _ = self.get_oauthlib_core().server.create_authorization_response(
            uri, scopes=asked, credentials={"user": self.request.user}
        )
        return HttpResponseRedirect(headers["Location"])

    def _refuse(self, reason: str, status: int, detail: str = "") -> HttpResponse:
        return self.render_to_response({"refused": reason, "detail": detail}, status=status)


def _shown(client: OAuthClient) -> str:
    """Return the app's name for users, with its hidden characters shown.

    If it has no others, return the client's id.
    """
    seen = any(letter.isprintable() and not letter.isspace() for letter in client.name)
    return visible(client.name) if seen else client.client_id


def _reason(error: FatalClientError) -> str:
    """Return the message to a user about a request without a known client or redirect address."""
    if isinstance(error, (InvalidClientIdError, MissingClientIdError)):
        # No id contains a NUL, and PostgreSQL would refuse one with an error.
        asked = (error.client_id or "").replace("\x00", "")
        rows = OAuthClient.objects.select_related("account")
        client = rows.only("name", "client_id", "status", "account__is_active").filter(client_id=asked).first()
        if client is None:
            return "This installation does not know the app. It may have been deleted."
        return f"{_shown(client)} is {client.effective_status}: it cannot get access now."
    if isinstance(error, (MismatchingRedirectURIError, InvalidRedirectURIError, MissingRedirectURIError)):
        return (
            "The app wants to redirect you to an address that it has not registered. "
            "It may not be the app that it claims to be."
        )
    return "The app's request is not complete, or contradicts itself."


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form of another session, usually of a page that stayed open during a sign-in or sign-out.

    The answer leads back to the page, with the app's parameters in its address, and so to a new form. Forms from
    another site usually come from this site, if the operator has not set how browsers reach it. The page and the
    log say how.
    """
    if reason.startswith(OTHER_SITE):
        return _refuse_origin(request)
    view = getattr(request.resolver_match.func, "view_class", None) if request.resolver_match else None
    again = request.get_full_path() if view is None or hasattr(view, "get") else reverse("home")
    response = render(request, "accounts/expired.html", {"again": again}, status=403)
    response["Content-Security-Policy"] = Page.policy
    return response


OTHER_SITE = ("Origin checking failed", "Referer checking failed")
"""The beginnings of Django's reasons for forms from an unknown site."""


def _refuse_origin(request: HttpRequest) -> HttpResponse:
    seen = request.META.get("HTTP_ORIGIN") or _origin_of(request.META.get("HTTP_REFERER", "")) or "no page at all"
    expected = {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}
    log.warning(
        "a form from %r was refused: expected %s. Where that is this site, set SITE_URL to how browsers reach it, "
        "and NUM_PROXIES to the number of proxies that set X-Forwarded-Proto (CSRF_TRUSTED_ORIGINS: further ones)",
        seen[:200], " or ".join(sorted(expected)),
    )  # fmt: skip
    response = render(request, "accounts/other_origin.html", status=403)
    response["Content-Security-Policy"] = Page.policy
    return response


def _origin_of(referer: str) -> str:
    """Return scheme and host of an address. The rest may contain a secret, which must not get into a log."""
    found = re.match(r"https?://[^/?#@]+", referer)
    return found[0] if found else ""


CLIENT_ID = re.compile("[0-9a-f]{20}")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
REFUSED = "The request was refused."
DESCRIPTIONS = {
    "invalid_client": "The client is unknown or not active, or its secret is missing or not right.",
    "invalid_grant": "The code or refresh token is not valid.",
    "invalid_scope": "A scope is unknown, or goes beyond what the user gave.",
    "unauthorized_client": "The client may not use this grant_type.",
    "unsupported_grant_type": "grant_type must be authorization_code or refresh_token.",
}
"""The descriptions of errors for which oauthlib gives only a name (RFC 6749, 5.2)."""


@method_decorator((csrf_exempt, sensitive_post_parameters()), name="dispatch")
class Endpoint(OAuthLibMixin, View):
    """An endpoint for clients: POST with all parameters in the body, form or multipart, and JSON in return.

    Refused requests count for the client at its address, and for the address alone. After too many, all requests of
    either answer 429 for a while. They do not count for the client at every address: otherwise anybody who knows
    its id could lock it out.
    """

    http_method_names = ["post", "options"]

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = self._refuse("The method is not allowed here: use POST.", 405)
        answer["Allow"] = ", ".join(self._allowed_methods())
        return answer

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.content_type not in FORMS and (request.content_type or _has_body(request)):
            return self._refuse(f"Content-Type must be {' or '.join(FORMS)}.")
        try:
            repeated = [name for name, values in request.POST.lists() if len(values) > 1]
        except (BadRequest, SuspiciousOperation, MultiPartParserError):
            return self._refuse("The body is not valid, or too large.")
        if request.META.get("QUERY_STRING"):
            return self._refuse("URL query parameters are not allowed")
        if repeated:
            # RFC 6749, 3.2. Otherwise each part of the server would choose which value counts.
            return self._refuse("A parameter is repeated.")
        network = network_of(request)
        counted = {"oauth_failures": f"{_claimed_id(request)}@{network}", "oauth_failures_address": network}
        if seconds := max(attempts.wait(what, subject) for what, subject in counted.items()):
            return self._slow_down(seconds)
        _, headers, body, status = self.respond(request)
        if status >= 400:
            body = _described(body)
            for what, subject in counted.items():
                attempts.count(what, subject)
        kept = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return HttpResponse(body, status=status, headers={**headers, **kept})

    def _refuse(self, description: str, status: int = 400) -> JsonResponse:
        body = {"error": "invalid_request", "error_description": description}
        return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})

    def _slow_down(self, seconds: float) -> JsonResponse:
        return JsonResponse(
            {"error": "temporarily_unavailable", "error_description": attempts.advice(seconds)},
            status=429,
            headers={"Retry-After": str(math.ceil(seconds)), "Cache-Control": "no-store"},
        )

    def respond(self, request: HttpRequest) -> tuple:
        """Return oauthlib's answer: address, headers, body, status."""
        raise NotImplementedError


def _claimed_id(request: HttpRequest) -> str:
    """Return the client id that the request claims, in its header or body. Empty if it is no possible id."""
    scheme, _, credentials = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    claimed = request.POST.get("client_id", "")
    if scheme.lower() == "basic":
        try:
            claimed = base64.b64decode(credentials).decode("latin-1").partition(":")[0]
        except (binascii.Error, ValueError):
            return ""
    return claimed if CLIENT_ID.fullmatch(claimed) else ""


def _has_body(request: HttpRequest) -> bool:
    return (request.META.get("CONTENT_LENGTH") or "0") != "0"


def _described(body: str) -> str:
    """Return an error of oauthlib with an ``error_description``, which oauthlib omits from some."""
    error = json.loads(body)
    return json.dumps({"error_description": DESCRIPTIONS.get(error["error"], REFUSED), **error})


class TokenView(Endpoint):
    """``/oauth/token``: exchanges a code or a refresh token for an access token."""

    def respond(self, request: HttpRequest) -> tuple:
        if not request.POST.get("grant_type"):
            error = {"error": "invalid_request", "error_description": "grant_type is required."}
            return None, {}, json.dumps(error), 400
        return self.create_token_response(request)


class RevokeView(Endpoint):
    """``/oauth/revoke``: ends an access token or a refresh token, and the other token of the pair."""

    def respond(self, request: HttpRequest) -> tuple:
        return self.create_revocation_response(request)


class IntrospectView(Endpoint):
    """``/oauth/introspect``: tells an API the properties of an access token that it received (RFC 7662)."""

    def respond(self, request: HttpRequest) -> tuple:
        core = self.get_oauthlib_core()
        uri, method, body, headers = core._extract_params(request)
        headers, body, status = core.server.create_introspect_response(uri, method, body, headers)
        return uri, headers, body, status
