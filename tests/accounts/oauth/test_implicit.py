"""Tokens without a code (the implicit grant): off by default, and how it works where an operator enables it."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from django.utils.timezone import now, timedelta

from accounts.models import Authorization, OAuthAccessToken, OAuthRefreshToken
from tests.accounts.apps import REDIRECT, browser_of, call

pytestmark = pytest.mark.django_db


def fragment(response) -> dict[str, str]:
    """Return the parameters in the fragment of the redirect. The query of the redirect belongs to the app."""
    assert response.status_code == 302, response.content
    address, _, behind = response["Location"].partition("#")
    assert address == REDIRECT
    return dict(parse_qsl(behind))


def wish(app, **changed) -> dict:
    return {"response_type": "token", "code_challenge": None, "code_challenge_method": None, **changed}


def test_it_is_off(app, owner):
    answer = fragment(app.ask(browser_of(owner), **wish(app)))
    assert answer == {"error": "unsupported_response_type", "state": "s&1"}


class TestSwitchedOn:
    @pytest.fixture(autouse=True)
    def _on(self, settings):
        settings.OAUTH_IMPLICIT = True

    def test_a_public_client_gets_a_token_behind_the_address(self, spa, owner):
        answer = fragment(spa.consent(browser_of(owner), "computes:read_only,events:read_only", **wish(spa)))
        token = answer.pop("access_token")
        assert answer == {
            "token_type": "Bearer", "expires_in": "7200", "scope": "computes:read_only events:read_only",
            "state": "s&1",
        }  # fmt: skip
        listed = call(token)
        assert listed.status_code == 200
        assert listed["X-OAuth-Scopes"].replace(",", " ").split() == ["computes:read_only", "events:read_only"]
        assert not OAuthRefreshToken.objects.exists()

    def test_access_ends_after_two_hours_and_is_seen_and_revoked_like_any(self, spa, owner, client_for):
        token = fragment(spa.consent(browser_of(owner), **wish(spa)))["access_token"]
        left = OAuthAccessToken.objects.get().expires - now()
        assert timedelta(minutes=110) < left <= timedelta(seconds=7200)
        api = client_for(owner)
        [app] = api.get("/v4/profile/apps").json()["data"]
        assert app["label"] == "Dashboard"
        assert api.delete(f"/v4/profile/apps/{app['id']}").status_code == 200
        assert call(token).status_code == 401

    def test_the_page_is_the_same_and_cancelling_gives_nothing(self, spa, owner):
        browser = browser_of(owner)
        assert b"See compute instances" in spa.ask(browser, **wish(spa)).content
        answer = fragment(spa.consent(browser, allow=False, **wish(spa)))
        assert answer == {"error": "access_denied", "state": "s&1"}
        assert not OAuthAccessToken.objects.exists()
        assert not Authorization.objects.exists()

    def test_confidential_clients_have_to_take_a_code(self, web, owner):
        assert fragment(web.ask(browser_of(owner), **wish(web)))["error"] == "unauthorized_client"

    def test_nothing_is_sent_to_an_address_that_is_not_registered(self, spa, owner):
        page = spa.ask(browser_of(owner), **wish(spa, redirect_uri="https://evil.example/"))
        assert page.status_code == 400

    def test_wrong_scopes_are_reported_in_the_fragment_too(self, spa, owner):
        answer = fragment(spa.ask(browser_of(owner), "everything", **wish(spa)))
        assert answer == {"error": "invalid_scope", "state": "s&1"}

    def test_codes_go_on_as_before(self, app, owner):
        token = app.tokens(owner)["access_token"]
        assert call(token).status_code == 200
        assert urlsplit(app.consent(browser_of(owner))["Location"]).fragment == ""

    def test_code_and_token_at_once_are_not_offered(self, spa, owner):
        answer = spa.ask(browser_of(owner), response_type="code token")
        assert "error=unauthorized_client" in answer["Location"]
