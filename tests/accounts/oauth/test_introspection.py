"""Token introspection (RFC 7662): the answers to an API about the tokens that it receives."""

import base64
from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from accounts.models import OAuthAccessToken
from tests.accounts.apps import App, call
from tests.factories import AccountFactory, token_of

pytestmark = pytest.mark.django_db
INACTIVE = {"active": False}


@pytest.fixture
def makers(db):
    """The account of a company that makes apps."""
    return AccountFactory(company="Makers")


@pytest.fixture
def backend(makers) -> App:
    """The company's API."""
    return App(public=False, name="API", account=makers)


@pytest.fixture
def page(makers) -> App:
    """The company's page of scripts, which calls the API."""
    return App(public=True, name="Page", account=makers)


def asked(app: App, token: str, **changed) -> dict:
    response = app.post("/oauth/introspect", {"token": token, **changed})
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    return response.json()


def test_a_client_learns_about_its_own_token(web, owner):
    token = web.tokens(owner, "computes:read_only events:read_write")["access_token"]
    stored = OAuthAccessToken.objects.get()
    assert asked(web, token) == {
        "active": True, "scope": "computes:read_only events:read_write", "client_id": web.id, "username": "owner",
        "sub": str(owner.pk), "token_type": "Bearer", "iat": int(stored.created.timestamp()),
        "exp": int(stored.expires.timestamp()),
    }  # fmt: skip


def test_clients_of_one_account_learn_about_tokens_of_each_other(backend, page, owner):
    token = page.tokens(owner)["access_token"]
    assert asked(backend, token)["client_id"] == page.id


def test_a_client_learns_nothing_about_tokens_of_other_apps(backend, web, owner, stranger):
    others = App(public=False, account=stranger.account)
    for app in (web, others):
        assert asked(backend, app.tokens(owner)["access_token"]) == INACTIVE
        assert asked(app, backend.tokens(owner)["access_token"]) == INACTIVE


def test_clients_without_an_account_learn_nothing_about_other_tokens(web, owner):
    assert asked(App(public=False), web.tokens(owner)["access_token"]) == INACTIVE


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "what"])
def test_the_hint_changes_nothing(web, owner, hint):
    assert asked(web, web.tokens(owner)["access_token"], token_type_hint=hint)["active"] is True


def test_other_tokens_and_texts_are_not_active(web, owner):
    refresh = web.tokens(owner)["refresh_token"]
    for text in (refresh, token_of(owner), web.code(owner), web.secret, "x", "\x00", "é" * 5000):
        assert asked(web, text) == INACTIVE


@pytest.mark.parametrize("who", ["user", "account", "client", "expired", "revoked", "app"])
def test_ended_access_is_not_active(web, backend, makers, owner, client_for, who):
    web.client.account = makers
    web.client.save(update_fields=["account"])
    token = web.tokens(owner)["access_token"]
    assert asked(backend, token)["active"] is True
    if who == "user":
        type(owner).objects.filter(pk=owner.pk).update(is_active=False)
    elif who == "account":
        type(owner.account).objects.filter(pk=owner.account.pk).update(is_active=False)
    elif who == "client":
        web.client.status = "suspended"
        web.client.save(update_fields=["status"])
    elif who == "expired":
        OAuthAccessToken.objects.update(expires=now() - timedelta(seconds=1))
    elif who == "revoked":
        web.revoke(token)
    else:
        client_for(owner).delete(f"/v4/profile/apps/{owner.authorizations.get().pk}")
    assert asked(backend, token) == INACTIVE
    assert call(token).status_code == 401


class TestWhoMayAsk:
    def refused(self, response) -> None:
        assert response.status_code == 401, response.content
        assert response.json()["error"] == "invalid_client"

    def test_a_wrong_secret_is_refused(self, web, owner):
        token = web.tokens(owner)["access_token"]
        for changed in ({"client_secret": None}, {"client_secret": "0" * 64}, {"client_id": "0" * 20}):
            self.refused(web.post("/oauth/introspect", {"token": token, **changed}))

    def test_a_token_in_place_of_the_secret_is_refused(self, web, owner):
        token = web.tokens(owner)["access_token"]
        bearer = f"Bearer {token}"
        self.refused(Client().post("/oauth/introspect", {"token": token}, HTTP_AUTHORIZATION=bearer))

    def test_public_clients_are_refused(self, spa, owner):
        token = spa.tokens(owner)["access_token"]
        self.refused(spa.post("/oauth/introspect", {"token": token}))
        spa.client.client_secret = spa.secret = "1" * 64
        spa.client.save(update_fields=["client_secret"])
        self.refused(spa.post("/oauth/introspect", {"token": token}))

    def test_no_client_that_is_not_active(self, web, owner):
        token = web.tokens(owner)["access_token"]
        web.client.status = "disabled"
        web.client.save(update_fields=["status"])
        self.refused(web.post("/oauth/introspect", {"token": token}))

    def test_no_client_whose_account_is_suspended(self, backend, makers, owner):
        token = backend.tokens(owner)["access_token"]
        type(makers).objects.filter(pk=makers.pk).update(is_active=False)
        self.refused(backend.post("/oauth/introspect", {"token": token}))

    def test_a_basic_header_does(self, web, owner):
        token = web.tokens(owner)["access_token"]
        basic = "Basic " + base64.b64encode(f"{web.id}:{web.secret}".encode()).decode()
        answer = Client().post("/oauth/introspect", {"token": token}, HTTP_AUTHORIZATION=basic)
        assert answer.json()["active"] is True

    def test_the_token_is_asked_for_in_a_posted_body(self, web, owner):
        token = web.tokens(owner)["access_token"]
        assert Client().get("/oauth/introspect", {"token": token}).status_code == 405
        answer = Client().post(
            f"/oauth/introspect?token={token}", {"client_id": web.id, "client_secret": web.secret}
        )
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        assert web.post("/oauth/introspect", {}).json()["error"] == "invalid_request"

    def test_no_script_of_another_origin(self, web, owner):
        answer = web.post("/oauth/introspect", {"token": "x"}, HTTP_ORIGIN="https://spa.example")
        assert "Access-Control-Allow-Origin" not in answer
