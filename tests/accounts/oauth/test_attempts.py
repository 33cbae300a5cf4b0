"""Clients that fail repeatedly must wait. Clients without failures never wait."""

import pytest
from django.test import Client

from tests.accounts.apps import App

pytestmark = pytest.mark.django_db
PATHS = ["/oauth/token", "/oauth/introspect", "/oauth/revoke"]


def fail(app: App, path: str = "/oauth/token", address: str = "198.51.100.7"):
    wrong = {"client_secret": "0" * 64, "token": "x", "grant_type": "authorization_code", "code": "x"}
    return app.post(path, wrong, REMOTE_ADDR=address)


@pytest.mark.parametrize("path", PATHS)
def test_too_many_failures_have_to_wait(limit, web, path):
    limit(oauth_failures="3/60")
    assert [fail(web, path).status_code for _ in range(5)] == [401, 401, 401, 429, 429]
    last = fail(web, path)
    assert last.json()["error"] == "temporarily_unavailable"
    assert last.json()["error_description"].startswith("Too many attempts. Try again in ")
    assert 0 < int(last["Retry-After"]) <= 60
    assert last["Cache-Control"] == "no-store"


def test_waiting_is_for_all_endpoints_and_for_right_secrets_too(limit, web, owner):
    limit(oauth_failures="2/60")
    code = web.code(owner)
    fail(web)
    fail(web, "/oauth/revoke")
    assert web.exchange(code, REMOTE_ADDR="x").status_code == 200  # from elsewhere
    refresh = {"grant_type": "refresh_token", "refresh_token": "x"}
    assert web.post("/oauth/token", refresh, REMOTE_ADDR="198.51.100.7").status_code == 429


def test_a_client_cannot_be_shut_out_from_elsewhere(limit, web, owner):
    limit(oauth_failures="2/60")
    for _ in range(5):
        fail(web)
    assert web.tokens(owner)["access_token"]


def test_correct_requests_are_never_limited(limit, web, owner):
    limit(oauth_failures="1/60", oauth_failures_address="1/60")
    token = web.tokens(owner)
    for _ in range(3):
        token = web.refresh(token["refresh_token"]).json()
        assert web.post("/oauth/introspect", {"token": token["access_token"]}).json()["active"] is True
        assert web.post("/oauth/introspect", {"token": "somebody's"}).json() == {"active": False}
        assert web.revoke("unknown").status_code == 200


def test_guessing_clients_are_counted_for_their_address(limit, db):
    limit(oauth_failures_address="3/60")
    guesses = [App(public=False) for _ in range(4)]
    assert [fail(guess).status_code for guess in guesses] == [401, 401, 401, 429]
    assert fail(guesses[0], address="198.51.100.8").status_code == 401


def test_codes_that_are_wrong_count_too(limit, spa):
    limit(oauth_failures="2/60")
    assert [spa.exchange("guess").status_code for _ in range(3)] == [400, 400, 429]


def test_the_client_is_read_from_its_header_too_and_nonsense_counts_for_nobody(limit, web):
    limit(oauth_failures="2/60")
    headers = ["Basic !!!", "Basic " + "A" * 50_000, "Bearer x", "Basic w6k="]
    for header in headers:
        assert Client().post("/oauth/token", {}, HTTP_AUTHORIZATION=header).status_code in (400, 401, 429)
    assert fail(web, address="127.0.0.1").status_code == 401
