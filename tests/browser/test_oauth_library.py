"""A library that was written for other servers: Authlib's OAuth 2 client, and its user's browser."""

import pytest
import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session

from accounts.models import OAuthClient
from accounts.oauth.generators import ClientSecret
from tests.factories import OAuthClientFactory

pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.browser]
SCOPE = "computes:read_write events:read_only"


@pytest.fixture(autouse=True)
def _without_https(monkeypatch):
    """Let Authlib accept HTTP. In production, a proxy in front of us terminates HTTPS."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


class App:
    """An app that leaves OAuth to Authlib."""

    def __init__(self, site, redirect_uri: str, account, public: bool):
        self.site = site
        self.secret = None if public else ClientSecret().hash()
        self.client = OAuthClientFactory(
            name="Dashboard", account=account, redirect_uris=redirect_uri, client_secret=self.secret or "",
            client_type=OAuthClient.CLIENT_PUBLIC if public else OAuthClient.CLIENT_CONFIDENTIAL,
        )  # fmt: skip
        self.session = OAuth2Session(
            self.client.client_id, self.secret, scope=SCOPE, redirect_uri=redirect_uri,
            code_challenge_method="S256",
            token_endpoint_auth_method="none" if public else "client_secret_basic",
        )  # fmt: skip
        self.session.trust_env = False

    def sign_up(self, visitor) -> dict:
        """Go from the app's first page to a token, with a user who signs in and consents on the way."""
        verifier = generate_token(48)
        address, state = self.session.create_authorization_url(self.at("authorize"), code_verifier=verifier)
        visitor.visit(address)
        visitor.sign_in()
        assert visitor.heading == "Give Dashboard access?"
        visitor.press("Give access")
        assert visitor.heading == "Back at the app"
        back = visitor.driver.current_url
        return self.session.fetch_token(
            self.at("token"), authorization_response=back, code_verifier=verifier, state=state
        )

    def ask_about(self, token: str) -> requests.Response:
        return self.session.introspect_token(self.at("introspect"), token=token)

    def at(self, endpoint: str) -> str:
        return f"{self.site.url}/oauth/{endpoint}"

    def get(self, path: str) -> requests.Response:
        return self.session.get(f"{self.site.url}/v4{path}")

    def post(self, path: str) -> requests.Response:
        return self.session.post(f"{self.site.url}/v4{path}", json={})


def test_the_whole_life_of_a_confidential_clients_access(visitor, site, app_site, account):
    app = App(site, app_site.redirect_uri, account, public=False)
    token = app.sign_up(visitor)
    assert token["scope"] == SCOPE
    assert token["expires_in"] == 7200
    assert app.get("/profile").json()["username"] == "owner"
    assert app.get("/compute/instances").json()["results"] == 0
    assert app.post("/compute/instances").status_code == 400  # allowed, but fields are missing

    narrow = app.session.refresh_token(app.at("token"), scope="computes:read_only")
    assert narrow["scope"] == "computes:read_only"
    assert narrow["refresh_token"] != token["refresh_token"]
    assert app.get("/compute/instances").status_code == 200
    refused = app.post("/compute/instances")
    assert refused.status_code == 401
    assert refused.json()["errors"][0]["reason"] == "Your OAuth token is not authorized to use this endpoint."
    assert app.get("/account/events").status_code == 401

    answer = app.ask_about(narrow["access_token"]).json()
    assert (answer["active"], answer["username"], answer["scope"]) == (True, "owner", "computes:read_only")
    assert app.ask_about(token["access_token"]).json() == {"active": False}

    app.session.revoke_token(app.at("revoke"), token=narrow["access_token"])
    assert app.get("/profile").status_code == 401
    assert app.ask_about(narrow["access_token"]).json() == {"active": False}
    with pytest.raises(OAuthError, match="invalid_grant"):
        app.session.refresh_token(app.at("token"), refresh_token=narrow["refresh_token"])


def test_the_whole_life_of_a_public_clients_access(visitor, site, app_site, account):
    app = App(site, app_site.redirect_uri, account, public=True)
    token = app.sign_up(visitor)
    assert "refresh_token" not in token
    assert app.get("/compute/instances").status_code == 200
    assert app.get("/account/users").status_code == 401

    backend = App(site, app_site.redirect_uri, account, public=False)
    answer = backend.ask_about(token["access_token"]).json()
    assert (answer["client_id"], answer["scope"]) == (app.client.client_id, SCOPE)
    assert app.ask_about(token["access_token"]).status_code == 401

    app.session.revoke_token(app.at("revoke"), token=token["access_token"])
    assert app.get("/profile").status_code == 401


def test_a_code_that_another_app_got_hold_of_is_of_no_use(visitor, site, app_site, account):
    app = App(site, app_site.redirect_uri, account, public=True)
    address, _ = app.session.create_authorization_url(app.at("authorize"), code_verifier=generate_token(48))
    visitor.visit(address)
    visitor.sign_in()
    visitor.press("Give access")
    code = app_site.visits[0]["code"]
    for thief in (App(site, app_site.redirect_uri, account, public=True), app):
        with pytest.raises(OAuthError, match="invalid_grant"):
            thief.session.fetch_token(thief.at("token"), code=code, code_verifier=generate_token(48))
