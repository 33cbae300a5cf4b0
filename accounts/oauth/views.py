"""Consent, and the two endpoints that clients call themselves."""

from urllib.parse import urlencode, urlsplit

from django.contrib.auth.mixins import LoginRequiredMixin
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import View
from django.views.generic.base import TemplateResponseMixin
from oauth2_provider.views.mixins import OAuthLibMixin
from oauthlib.oauth2.rfc6749.errors import AccessDeniedError, FatalClientError, OAuth2Error

from accounts.models import User
from accounts.oauth.scopes import describe_all
from accounts.oauth.validator import may_authorize
from accounts.pages.base import Page
from accounts.services.access import note_authorization


class AuthorizeView(Page, LoginRequiredMixin, OAuthLibMixin, TemplateResponseMixin, View):
    """``/oauth/authorize``: GET asks the user, POST is the answer.

    The form carries the parameters of the request, and the answer is checked as the request was: what is
    granted is what the page said. Users are asked each time, whatever they granted before.
    """

    template_name = "consent.html"
    PARAMETERS = (
        "client_id", "response_type", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method",
    )  # fmt: skip

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._respond(request, request.GET, self._ask)

    def post(self, request: HttpRequest) -> HttpResponse:
        return self._respond(request, request.POST, self._answer)

    def _respond(self, request: HttpRequest, parameters: QueryDict, act) -> HttpResponse:
        if not may_authorize(request.user):
            return self._refuse("Your user cannot give apps access: it has no active account.", 403)
        # oauthlib takes them from an address. Repeated ones are left for it to refuse.
        query = urlencode([(name, value) for name in self.PARAMETERS for value in parameters.getlist(name)])
        uri = f"{request.path}?{query}"
        try:
            scopes, wish = self.get_oauthlib_core().server.validate_authorization_request(uri)
            return act(uri, scopes, wish)
        except FatalClientError as error:
            # Who asks is unknown, or where to answer: the user is told, and sent nowhere.
            return self._refuse(error.description or error.error, 400)
        except OAuth2Error as error:
            return HttpResponseRedirect(error.in_uri(error.redirect_uri))

    def _ask(self, uri: str, scopes: list[str], wish: dict) -> HttpResponse:
        context = {
            "client": wish["request"].client,
            "site": urlsplit(wish["redirect_uri"]).netloc,
            "allowances": describe_all(scopes),
            "parameters": wish["request"].uri_query_params,
        }
        return self.render_to_response(context)

    @transaction.atomic
    def _answer(self, uri: str, scopes: list[str], wish: dict) -> HttpResponse:
        if "allow" not in self.request.POST:
            raise AccessDeniedError(request=wish["request"])
        headers, _, _ = self.get_oauthlib_core().server.create_authorization_response(
            uri, scopes=scopes, credentials={"user": self.request.user}
        )
        assert isinstance(self.request.user, User)  # noqa: S101 - may_authorize has seen to it
        note_authorization(self.request.user, wish["request"].client, " ".join(scopes))
        return HttpResponseRedirect(headers["Location"])

    def _refuse(self, reason: str, status: int) -> HttpResponse:
        return self.render_to_response({"refused": reason}, status=status)


@method_decorator((csrf_exempt, sensitive_post_parameters()), name="dispatch")
class Endpoint(OAuthLibMixin, View):
    """What clients call: POST, form or multipart, all in the body, and JSON in return."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.META.get("QUERY_STRING"):
            description = "URL query parameters are not allowed"
            return JsonResponse({"error": "invalid_request", "error_description": description}, status=400)
        _, headers, body, status = self.respond(request)
        kept = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return HttpResponse(body, status=status, headers={**headers, **kept})

    def respond(self, request: HttpRequest) -> tuple:
        """oauthlib's answer: address, headers, body, status."""
        raise NotImplementedError


class TokenView(Endpoint):
    """``/oauth/token``: a code or a refresh token for an access token."""

    def respond(self, request: HttpRequest) -> tuple:
        return self.create_token_response(request)


class RevokeView(Endpoint):
    """``/oauth/revoke``: ends an access token or a refresh token, and the other one of the two with it."""

    def respond(self, request: HttpRequest) -> tuple:
        return self.create_revocation_response(request)
