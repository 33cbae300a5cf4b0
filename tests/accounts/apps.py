"""Apps that ask users for access, and the browsers of the users."""

import base64
import hashlib
import secrets
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from accounts.models import Account, OAuthClient, User
from accounts.oauth.generators import ClientSecret

REDIRECT = "https://app.example/done?from=skerry"
LIST, PROFILE = "/v4/compute/instances", "/v4/profile"


def browser_of(user: User) -> Client:
    """Return a browser in which the user is signed in. It checks forms for forgery as a real one does."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    return browser


def redirected(response) -> dict[str, str]:
    """The parameters of the redirect to the app."""
    assert response.status_code == 302, response.content
    target = urlsplit(response["Location"])
    assert f"{target.scheme}://{target.netloc}{target.path}" == "https://app.example/done"
    found = dict(parse_qsl(target.query))
    assert found.pop("from") == "skerry"
    return found


def call(token: str, path: str = LIST):
    """Send GET for `path` with a bearer token."""
    return Client().get(path, HTTP_AUTHORIZATION=f"Bearer {token}")


class App:
    """An app as a developer would write it, without an OAuth library."""

    def __init__(self, public: bool, name: str = "Dashboard", account: Account | None = None):
        self.secret = None if public else ClientSecret().hash()
        self.client = OAuthClient.objects.create(
            name=name,
            account=account,
            redirect_uris=REDIRECT,
            client_type=OAuthClient.CLIENT_PUBLIC if public else OAuthClient.CLIENT_CONFIDENTIAL,
            authorization_grant_type=OAuthClient.GRANT_AUTHORIZATION_CODE,
            client_secret=self.secret or "",
        )
        self.id = self.client.client_id
        self.verifier = secrets.token_urlsafe(48)
        self.pkce = public

    def wish(self, scope: str = "computes:read_only", **changed) -> dict[str, str]:
        """Return the parameters of an authorization request. None removes a parameter."""
        wish = {
            "client_id": self.id, "response_type": "code", "redirect_uri": REDIRECT, "scope": scope, "state": "s&1",
        }  # fmt: skip
        if self.pkce:
            digest = hashlib.sha256(self.verifier.encode()).digest()
            wish["code_challenge"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            wish["code_challenge_method"] = "S256"
        return {name: value for name, value in {**wish, **changed}.items() if value is not None}

    def ask(self, browser: Client, scope: str = "computes:read_only", **changed):
        """Open the consent page."""
        return browser.get("/oauth/authorize", self.wish(scope, **changed))

    def consent(self, browser: Client, scope: str = "computes:read_only", *, allow: bool = True, **changed):
        """Open the consent page, and press one of its buttons."""
        page = self.ask(browser, scope, **changed)
        assert page.status_code == 200, page.content
        fields = dict(page.context["parameters"])
        fields["csrfmiddlewaretoken"] = browser.cookies["csrftoken"].value
        if allow:
            fields["allow"] = "true"
        return browser.post("/oauth/authorize", fields)

    def code(self, user: User, scope: str = "computes:read_only", **changed) -> str:
        found = redirected(self.consent(browser_of(user), scope, **changed))
        assert found["state"] == "s&1"
        return found["code"]

    def post(self, path: str, data: dict, **headers):
        """Call an endpoint with a form, which names and authenticates the app."""
        own = {"client_id": self.id, "client_secret": self.secret}
        fields = {name: value for name, value in {**own, **data}.items() if value is not None}
        return Client().post(path, fields, **headers)

    def exchange(self, code: str, **changed):
        data = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
        if self.pkce:
            data["code_verifier"] = self.verifier
        return self.post("/oauth/token", {**data, **changed})

    def refresh(self, token: str, **changed):
        return self.post("/oauth/token", {"grant_type": "refresh_token", "refresh_token": token, **changed})

    def revoke(self, token: str, **changed):
        return self.post("/oauth/revoke", {"token": token, **changed})

    def tokens(self, user: User, scope: str = "computes:read_only") -> dict:
        """Run the whole flow, and return the tokens."""
        response = self.exchange(self.code(user, scope))
        assert response.status_code == 200, response.content
        return response.json()


@pytest.fixture
def web(db) -> App:
    """A confidential client."""
    return App(public=False)


@pytest.fixture
def spa(db) -> App:
    """A public client: a page of scripts in a browser."""
    return App(public=True)


@pytest.fixture(params=["public", "confidential"])
def app(request, db) -> App:
    return App(public=request.param == "public")
