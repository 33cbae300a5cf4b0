"""The OAuth flow from the authorization request to the end: codes, tokens, refreshing, revoking."""

import base64
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import OAuthAccessToken, OAuthGrant, OAuthRefreshToken
from accounts.oauth.validator import Validator
from accounts.services import suspension
from tests.accounts.apps import LIST, PROFILE, REDIRECT, App, browser_of, call, redirected

pytestmark = pytest.mark.django_db


def error_of(response, status: int = 400) -> str:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    return response.json()["error"]


def test_ids_and_secrets_have_the_contracts_shape(web):
    assert re.fullmatch("[0-9a-f]{20}", web.id)
    assert re.fullmatch("[0-9a-f]{64}", web.secret)


def test_an_app_gets_a_token_that_works_within_its_scopes(app, owner):
    token = app.tokens(owner, "computes:read_only domains:read_write")
    assert token["expires_in"] == 7200
    assert token["token_type"] == "Bearer"
    assert token["scope"] == "computes:read_only domains:read_write"
    listed = call(token["access_token"])
    assert listed.status_code == 200
    assert listed["X-OAuth-Scopes"].replace(",", " ").split() == ["computes:read_only", "domains:read_write"]
    assert call(token["access_token"], PROFILE).json()["username"] == "owner"
    created = Client().post(
        LIST, {}, content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {token['access_token']}"
    )
    assert created.status_code == 401
    assert created.json()["errors"][0]["reason"] == "Your OAuth token is not authorized to use this endpoint."


def test_a_restricted_user_gives_away_no_more_than_it_has(web, restricted):
    assert call(web.tokens(restricted, "*")["access_token"], "/v4/profile/grants").status_code == 200


def test_a_form_a_multipart_body_and_a_basic_header_get_tokens(web, owner):
    data = {"grant_type": "authorization_code", "redirect_uri": REDIRECT}
    basic = base64.b64encode(f"{web.id}:{web.secret}".encode()).decode()
    form = Client().post(
        "/oauth/token",
        urlencode({**data, "code": web.code(owner)}),
        content_type="application/x-www-form-urlencoded",
        HTTP_AUTHORIZATION=f"Basic {basic}",
    )
    assert form.status_code == 200
    multipart = web.post("/oauth/token", {**data, "code": web.code(owner)})
    assert multipart.wsgi_request.content_type == "multipart/form-data"
    assert multipart.status_code == 200


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_browsers_may_call_from_any_origin(spa, path):
    preflight = Client().options(path, HTTP_ORIGIN="https://spa.example", HTTP_ACCESS_CONTROL_REQUEST_METHOD="POST")
    assert (preflight.status_code, preflight["Access-Control-Allow-Origin"]) == (200, "*")
    refused = spa.post(path, {}, HTTP_ORIGIN="https://spa.example")
    assert refused["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in refused


def test_the_scopes_may_be_separated_by_commas(web, owner):
    code = web.code(owner, "computes:read_only,domains:read_only, events:read_only")
    assert OAuthGrant.objects.get().scope == "computes:read_only domains:read_only events:read_only"
    assert web.exchange(code).json()["scope"] == "computes:read_only domains:read_only events:read_only"


def test_a_star_is_everything(web, owner):
    token = web.tokens(owner, "computes:read_only,*")
    assert token["scope"] == "*"
    assert call(token["access_token"])["X-OAuth-Scopes"] == "*"


def test_scopes_in_the_exchange_change_nothing(web, owner):
    code = web.code(owner, "computes:read_only")
    assert web.exchange(code, scope="*").json()["scope"] == "computes:read_only"


class TestACode:
    def test_works_once(self, app, owner):
        code = app.code(owner)
        assert app.exchange(code).status_code == 200
        assert error_of(app.exchange(code)) == "invalid_grant"
        assert not OAuthAccessToken.objects.exists()

    def test_used_twice_ends_its_tokens(self, app, owner):
        code, other = app.code(owner), app.tokens(owner)["access_token"]
        given = app.exchange(code).json()["access_token"]
        assert error_of(app.exchange(code)) == "invalid_grant"
        assert call(given).status_code == 401
        assert call(other).status_code == 200

    def test_used_twice_ends_the_tokens_of_its_refresh_token(self, web, owner):
        code = web.code(owner)
        fresh = web.refresh(web.exchange(code).json()["refresh_token"]).json()
        assert error_of(web.exchange(code)) == "invalid_grant"
        assert call(fresh["access_token"]).status_code == 401
        assert error_of(web.refresh(fresh["refresh_token"])) == "invalid_grant"

    def test_is_no_use_against_it_to_another_client_or_without_the_secret(self, web, app, owner):
        code = web.code(owner)
        given = web.exchange(code).json()["access_token"]
        app.exchange(code)
        web.exchange(code, client_secret="wrong")
        assert call(given).status_code == 200

    def test_loses_against_another_request_with_it_without_a_trace(self, web, owner, monkeypatch):
        code = web.code(owner)
        check = Validator.validate_code

        def checked_and_then_overtaken(self, *args, **kwargs):
            found = check(self, *args, **kwargs)
            OAuthGrant.objects.filter(code=code).delete()
            return found

        monkeypatch.setattr(Validator, "validate_code", checked_and_then_overtaken)
        assert error_of(web.exchange(code)) == "invalid_grant"
        assert not OAuthAccessToken.objects.exists()

    def test_expires_after_a_minute(self, app, owner):
        code = app.code(owner)
        assert OAuthGrant.objects.get().expires < now() + timedelta(seconds=61)
        OAuthGrant.objects.update(expires=now())
        assert error_of(app.exchange(code)) == "invalid_grant"

    def test_needs_its_verifier(self, spa, owner):
        code = spa.code(owner)
        assert error_of(spa.exchange(code, code_verifier="x" * 43)) == "invalid_grant"
        assert error_of(spa.exchange(code, code_verifier=None)) == "invalid_request"
        assert spa.exchange(code).status_code == 200

    def test_of_a_confidential_client_with_pkce_needs_its_verifier(self, web, owner):
        web.pkce = True
        code = web.code(owner)
        assert error_of(web.exchange(code, code_verifier="x" * 43)) == "invalid_grant"
        assert web.exchange(code).status_code == 200

    def test_a_code_without_a_challenge_takes_no_verifier(self, web, owner):
        assert error_of(web.exchange(web.code(owner), code_verifier=web.verifier)) == "invalid_grant"

    def test_is_for_its_own_client_and_address(self, web, app, owner):
        code = web.code(owner)
        assert error_of(app.exchange(code)) == "invalid_grant"
        for other in ("https://app.example/other", f"{REDIRECT}&x=1", "", None):
            assert error_of(web.exchange(code, redirect_uri=other)) == "invalid_grant"
        assert web.exchange(code).status_code == 200

    def test_a_code_without_a_redirect_address_needs_none(self, app, owner):
        for address, status in ((None, 200), (REDIRECT, 200), ("https://app.example/other", 400)):
            code = app.code(owner, redirect_uri=None)
            assert app.exchange(code, redirect_uri=address).status_code == status

    def test_needs_the_clients_secret(self, web, owner):
        code = web.code(owner)
        assert error_of(web.exchange(code, client_secret="0" * 64), 401) == "invalid_client"
        assert error_of(web.exchange(code, client_secret=None), 401) == "invalid_client"
        assert web.exchange(code).status_code == 200


class TestARefreshToken:
    def test_is_for_confidential_clients_alone(self, spa, web, owner):
        assert "refresh_token" not in spa.tokens(owner)
        assert not OAuthRefreshToken.objects.exists()
        refresh = web.tokens(owner)["refresh_token"]
        assert error_of(spa.refresh(refresh)) == "unauthorized_client"

    def test_is_replaced_with_its_access_token(self, web, owner):
        first = web.tokens(owner)
        second = web.refresh(first["refresh_token"]).json()
        assert second["refresh_token"] != first["refresh_token"]
        assert call(first["access_token"]).status_code == 401
        assert call(second["access_token"]).status_code == 200
        third = web.refresh(second["refresh_token"]).json()
        assert call(third["access_token"]).status_code == 200

    def test_used_twice_ends_all_that_came_of_it(self, web, owner):
        first = web.tokens(owner)
        second = web.refresh(first["refresh_token"]).json()
        other = web.tokens(owner)
        assert error_of(web.refresh(first["refresh_token"])) == "invalid_grant"
        assert call(second["access_token"]).status_code == 401
        assert error_of(web.refresh(second["refresh_token"])) == "invalid_grant"
        assert call(other["access_token"]).status_code == 200

    def test_used_twice_at_once_ends_all_that_came_of_it(self, web, owner, monkeypatch):
        first = web.tokens(owner)["refresh_token"]
        check, won = Validator.validate_refresh_token, []

        def checked_and_then_overtaken(self, *args, **kwargs):
            found = check(self, *args, **kwargs)
            monkeypatch.setattr(Validator, "validate_refresh_token", check)
            won.append(web.refresh(first).json())
            return found

        monkeypatch.setattr(Validator, "validate_refresh_token", checked_and_then_overtaken)
        assert error_of(web.refresh(first)) == "invalid_grant"
        assert call(won[0]["access_token"]).status_code == 401
        assert error_of(web.refresh(won[0]["refresh_token"])) == "invalid_grant"

    def test_may_ask_for_less_and_then_not_for_more(self, web, owner):
        first = web.tokens(owner, "computes:read_write domains:read_only")
        second = web.refresh(first["refresh_token"], scope="computes:read_only").json()
        assert second["scope"] == "computes:read_only"
        assert call(second["access_token"])["X-OAuth-Scopes"] == "computes:read_only"
        assert error_of(web.refresh(second["refresh_token"], scope="computes:read_write")) == "invalid_scope"
        assert web.refresh(second["refresh_token"]).json()["scope"] == "computes:read_only"

    @pytest.mark.parametrize("scope", ["*", "domains:read_write", "computes:read_only events:read_only", "no", ","])
    def test_gets_no_more_than_was_consented(self, web, owner, scope):
        first = web.tokens(owner, "computes:read_write domains:read_only")
        assert error_of(web.refresh(first["refresh_token"], scope=scope)) == "invalid_scope"
        assert web.refresh(first["refresh_token"], scope="domains:read_only,computes:read_only").status_code == 200

    def test_is_for_its_own_client(self, web, owner):
        other = type(web)(public=False)
        assert error_of(other.refresh(web.tokens(owner)["refresh_token"])) == "invalid_grant"

    def test_expires_when_it_is_not_used(self, web, owner):
        token = web.tokens(owner)
        OAuthAccessToken.objects.update(expires=now() - timedelta(days=89))
        token = web.refresh(token["refresh_token"]).json()
        OAuthAccessToken.objects.update(expires=now() - timedelta(days=90))
        assert error_of(web.refresh(token["refresh_token"])) == "invalid_grant"


class TestEnding:
    def test_revoking_an_access_token_works_from_the_next_request_on(self, app, owner):
        token = app.tokens(owner)["access_token"]
        assert call(token).status_code == 200
        assert app.revoke(token).status_code == 200
        assert call(token).status_code == 401

    def test_revoking_either_ends_the_other(self, web, owner):
        token = web.tokens(owner)
        web.revoke(token["access_token"], token_type_hint="access_token")
        assert error_of(web.refresh(token["refresh_token"])) == "invalid_grant"
        token = web.tokens(owner)
        web.revoke(token["refresh_token"])
        assert call(token["access_token"]).status_code == 401
        assert error_of(web.refresh(token["refresh_token"])) == "invalid_grant"

    def test_client_id_and_token_are_enough(self, web, owner):
        token = web.tokens(owner)["access_token"]
        assert web.revoke(token, client_secret=None).status_code == 200
        assert call(token).status_code == 401

    def test_a_wrong_secret_or_another_client_revokes_nothing(self, web, app, owner):
        token = web.tokens(owner)["access_token"]
        assert error_of(web.revoke(token, client_secret="0" * 64), 401) == "invalid_client"
        assert app.revoke(token).status_code == 200
        assert error_of(web.revoke(token, client_id="0" * 20), 401) == "invalid_client"
        assert call(token).status_code == 200

    def test_an_unknown_token_is_as_good_as_revoked_and_none_is_an_error(self, web):
        assert web.revoke("unknown").status_code == 200
        assert error_of(web.revoke("")) == "invalid_request"

    def test_access_ends_after_two_hours(self, web, owner):
        token = web.tokens(owner)
        left = OAuthAccessToken.objects.get().expires - now()
        assert timedelta(minutes=110) < left <= timedelta(seconds=7200)
        OAuthAccessToken.objects.update(expires=now())
        assert call(token["access_token"]).status_code == 401
        assert call(web.refresh(token["refresh_token"]).json()["access_token"]).status_code == 200

    @pytest.mark.parametrize("status", ["disabled", "suspended"])
    def test_a_client_that_is_not_active_is_refused_everywhere(self, app, owner, status):
        browser, token, code = browser_of(owner), app.tokens(owner), app.code(owner)
        app.client.status = status
        app.client.save(update_fields=["status"])
        assert call(token["access_token"]).status_code == 401
        assert app.ask(browser).status_code == 400
        assert error_of(app.exchange(code), 401) == "invalid_client"
        assert error_of(app.refresh(token.get("refresh_token", "none")), 401) == "invalid_client"
        assert error_of(app.revoke(token["access_token"]), 401) == "invalid_client"

    def test_suspending_the_account_of_a_client_pauses_its_access(self, owner, stranger, client_for):
        app = App(public=False, account=stranger.account)
        browser, token, code = browser_of(owner), app.tokens(owner), app.code(owner)
        platform = Actor.platform(stranger.account_id)
        suspension.set_account_active(platform, stranger.account, False)
        assert call(token["access_token"]).status_code == 401
        asked = app.ask(browser)
        assert asked.status_code == 400
        assert "Dashboard is suspended: it cannot get access now." in asked.content.decode()
        assert error_of(app.exchange(code), 401) == "invalid_client"
        assert error_of(app.refresh(token["refresh_token"]), 401) == "invalid_client"
        assert error_of(app.revoke(token["access_token"]), 401) == "invalid_client"
        assert client_for(owner).get("/v4/compute/instances").status_code == 200
        suspension.set_account_active(platform, stranger.account, True)
        assert call(token["access_token"]).status_code == 200
        assert app.ask(browser).status_code == 200
        assert call(app.exchange(code).json()["access_token"]).status_code == 200
        assert call(app.refresh(token["refresh_token"]).json()["access_token"]).status_code == 200

    def test_to_look_at_the_account_costs_no_query_more(self, owner):
        asked = []
        for account in (None, owner.account):
            app = App(public=False, account=account)
            with CaptureQueriesContext(connection) as queries:
                assert app.refresh("unknown").status_code == 400
            asked.append(len(queries))
        assert asked[0] == asked[1]

    @pytest.mark.parametrize("who", ["user", "account"])
    def test_a_suspended_user_or_account_is_refused_everywhere(self, web, owner, who):
        browser, token, code = browser_of(owner), web.tokens(owner), web.code(owner)
        suspended = owner if who == "user" else owner.account
        suspended.is_active = False
        suspended.save(update_fields=["is_active"])
        assert call(token["access_token"]).status_code == 401
        assert web.ask(browser).status_code == 302
        assert error_of(web.exchange(code)) == "invalid_grant"
        assert error_of(web.refresh(token["refresh_token"])) == "invalid_grant"


class TestWhatIsNotOffered:
    @pytest.mark.parametrize(
        "grant", ["password", "client_credentials", "openid", "urn:ietf:params:oauth:grant-type:device_code", ""]
    )
    def test_other_grants(self, web, grant):
        response = web.post("/oauth/token", {"grant_type": grant, "username": "owner", "password": "x"})
        assert error_of(response) in ("unsupported_grant_type", "unauthorized_client", "invalid_request")

    def test_a_client_registered_for_another_grant(self, web, owner):
        web.client.authorization_grant_type = "password"
        web.client.save(update_fields=["authorization_grant_type"])
        assert redirected(web.ask(browser_of(owner)))["error"] == "unauthorized_client"
        response = web.post("/oauth/token", {"grant_type": "password", "username": "owner", "password": "x"})
        assert error_of(response) == "unsupported_grant_type"

    @pytest.mark.parametrize("kind", ["id_token", "code token", "none", None])
    def test_other_responses_than_a_code(self, web, owner, kind):
        error = redirected(web.ask(browser_of(owner), response_type=kind))["error"]
        assert error in ("unsupported_response_type", "unauthorized_client", "invalid_request")

    @pytest.mark.parametrize("path", ["/oauth/device-authorization", "/oauth/applications", "/oauth/userinfo"])
    def test_other_endpoints(self, path, db):
        assert Client().post(path).status_code == 404

    @pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
    def test_anything_but_a_post_with_a_body(self, web, path):
        assert error_of(Client().post(f"{path}?token=%zz&x=1")) == "invalid_request"


class TestWhatErrorsSay:
    @pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke", "/oauth/introspect"])
    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
    def test_of_another_method(self, path, method):
        answer = Client().generic(method, path)
        assert error_of(answer, 405) == "invalid_request"
        assert answer.json()["error_description"] == "The method is not allowed here: use POST."
        assert answer["Allow"] == "POST, OPTIONS"
        assert answer["Cache-Control"] == "no-store"

    @pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke", "/oauth/introspect"])
    @pytest.mark.parametrize("kind", ["application/json", "text/plain", "", "application/xml; charset=utf-8"])
    def test_of_another_media_type(self, path, kind):
        answer = Client().generic("POST", path, b'{"grant_type": "refresh_token"}', content_type=kind)
        assert error_of(answer) == "invalid_request"
        assert answer.json()["error_description"] == (
            "Content-Type must be application/x-www-form-urlencoded or multipart/form-data."
        )

    @pytest.mark.parametrize(
        ("changed", "status", "error", "words"),
        [
            ({"grant_type": None}, 400, "invalid_request", "grant_type is required"),
            ({"grant_type": ""}, 400, "invalid_request", "grant_type is required"),
            ({"grant_type": "password"}, 400, "unsupported_grant_type", "authorization_code or refresh_token"),
            ({"client_secret": "x"}, 401, "invalid_client", "secret"),
            ({"client_secret": None}, 401, "invalid_client", "secret"),
            ({"client_id": "0" * 20}, 401, "invalid_client", "unknown"),
            ({"client_id": None}, 401, "invalid_client", "unknown"),
            ({"code": None}, 400, "invalid_request", "code"),
            ({"code": "x"}, 400, "invalid_grant", "code is unknown"),
            ({"redirect_uri": None}, 400, "invalid_grant", "redirect_uri is required"),
            ({"redirect_uri": "https://x"}, 400, "invalid_grant", "redirect_uri is not"),
            ({"code_verifier": "x" * 43}, 400, "invalid_grant", "code_verifier"),
            ({"grant_type": "refresh_token"}, 400, "invalid_request", "refresh token"),
            (
                {"grant_type": "refresh_token", "refresh_token": "x"},
                400,
                "invalid_grant",
                "refresh token is unknown",
            ),
        ],
        ids=str,
    )
    def test_of_the_token_endpoint(self, web, owner, changed, status, error, words):
        wish = {"grant_type": "authorization_code", "code": web.code(owner), "redirect_uri": REDIRECT}
        answer = web.post("/oauth/token", {**wish, **changed})
        assert error_of(answer, status) == error
        assert words in answer.json()["error_description"]
        # RFC 6749, 5.2
        assert re.fullmatch(r"[\x20\x21\x23-\x5b\x5d-\x7e]+", answer.json()["error_description"])

    def test_a_refused_refresh_has_an_error_description(self, web, spa, owner):
        refresh = web.tokens(owner)["refresh_token"]
        wide = web.refresh(refresh, scope="*")
        assert (error_of(wide), bool(wide.json()["error_description"])) == ("invalid_scope", True)
        public = spa.refresh(refresh)
        assert (error_of(public), bool(public.json()["error_description"])) == ("unauthorized_client", True)

    def test_of_a_verifier(self, spa, owner):
        code = spa.code(owner)
        wrong = spa.exchange(code, code_verifier="x" * 43)
        assert error_of(wrong) == "invalid_grant"
        assert "code_verifier does not fit" in wrong.json()["error_description"]
        missing = spa.exchange(code, code_verifier=None)
        assert error_of(missing) == "invalid_request"
        assert missing.json()["error_description"] == "Code verifier required."

    def test_of_the_other_endpoints(self, web):
        for path in ("/oauth/revoke", "/oauth/introspect"):
            answer = web.post(path, {"token": "x", "client_secret": "x"})
            assert error_of(answer, 401) == "invalid_client"
            assert answer.json()["error_description"]
            assert web.post(path, {}).json()["error_description"] == "Missing token parameter."


@pytest.mark.parametrize("field", ["client_id", "client_secret", "code", "redirect_uri", "grant_type", "scope"])
@pytest.mark.parametrize("value", ["\x00", "é" * 5000, "%zz"])
def test_no_input_to_the_token_endpoint_is_an_error_of_ours(web, owner, field, value):
    code = web.code(owner)
    wish = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
    assert web.post("/oauth/token", {**wish, field: value}).status_code < 500
    assert web.refresh(value, **{field: value}).status_code < 500
    assert web.revoke(value, **{field: value}).status_code < 500
