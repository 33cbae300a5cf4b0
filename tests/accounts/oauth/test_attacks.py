"""The OAuth server under attack: the list of RFC 9700, and requests that no honest client sends."""

import base64
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from urllib.parse import quote, urlencode

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Authorization, OAuthAccessToken, OAuthGrant
from tests.accounts.apps import LIST, PROFILE, REDIRECT, App, browser_of, call, redirected

pytestmark = pytest.mark.django_db
FORM = "application/x-www-form-urlencoded"
ENDPOINTS = ["/oauth/token", "/oauth/introspect", "/oauth/revoke"]


def refused(response, error: str = "invalid_request", status: int = 400) -> None:
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"] == error


class TestInputs:
    @pytest.mark.parametrize("path", ENDPOINTS)
    @pytest.mark.parametrize("field", ["client_id", "client_secret", "token", "grant_type", "code", "unknown"])
    def test_a_repeated_parameter_is_refused_in_either_order(self, web, path, field):
        good = {"client_id": web.id, "client_secret": web.secret, "token": "x", "grant_type": "x", "code": "x"}
        body = urlencode([*good.items(), (field, "a"), (field, good.get(field, "b"))])
        refused(Client().post(path, body, content_type=FORM))

    @pytest.mark.parametrize("path", ENDPOINTS)
    @pytest.mark.parametrize(
        ("body", "kind"),
        [
            (b"token=" + b"x" * 3_000_000, FORM),
            (b"&".join(b"f%d=1" % n for n in range(1001)), FORM),
            (b"no boundary", "multipart/form-data"),
            (b"--b\r\nbroken", "multipart/form-data; boundary=b"),
            (b"--b\r\n" * 50_000, "multipart/form-data; boundary=b"),
            ("token=x".encode("utf-16"), f"{FORM}; charset=utf-16"),
            (b"token=x", f"{FORM}; charset=none"),
            (b"\xff\xfe=\xff&client_id=\xff&token=%ff%00", FORM),
            (b'{"token": "x"}', "application/json"),
            (b"", FORM),
        ],
        ids=["huge", "many", "no boundary", "broken", "parts", "utf-16", "charset", "bytes", "json", "empty"],
    )
    def test_no_body_makes_an_error_of_ours(self, db, path, body, kind):
        response = Client(raise_request_exception=False).generic("POST", path, body, kind)
        assert response.status_code in (400, 401), response.content
        assert response.json()["error"]

    @pytest.mark.parametrize(
        "credentials",
        [b"\x00:\x00", b"\xff:\xff", b"no colon", b":", b"%00:%ff", b"a" * 6000 + b":b"],
        ids=["NUL", "bytes", "one", "empty", "percent", "long"],
    )
    @pytest.mark.parametrize("path", ENDPOINTS)
    def test_no_credentials_do(self, db, path, credentials):
        header = "Basic " + base64.b64encode(credentials).decode()
        data = {"token": "x", "grant_type": "authorization_code", "code": "x"}
        refused(Client().post(path, data, HTTP_AUTHORIZATION=header), "invalid_client", 401)

    @pytest.mark.parametrize("value", ["%ff", "%00", "%zz", "%0d%0aSet-Cookie:a=b", "x" * 5000, "%ed%a0%80", "é"])
    @pytest.mark.parametrize(
        "name", ["client_id", "redirect_uri", "scope", "state", "response_type", "code_challenge", "response_mode"]
    )
    def test_no_address_of_the_consent_page_does(self, spa, owner, name, value):
        wish = {**spa.wish(), name: None}
        query = urlencode({key: kept for key, kept in wish.items() if kept is not None})
        browser = browser_of(owner)
        browser.raise_request_exception = False
        page = browser.get(f"/oauth/authorize?{query}&{name}={value}")
        assert page.status_code in (200, 302, 400), page.content
        if page.status_code == 302:
            assert page["Location"].startswith(REDIRECT)
        assert "a" not in page.cookies

    def test_a_state_comes_back_as_it_went(self, web, owner):
        state = "\r\nSet-Cookie: a=b&code=evil#x <é>\"'"
        answer = redirected(web.consent(browser_of(owner), state=state))
        assert answer["state"] == state
        assert answer["code"] != "evil"


class TestTokensAndCodes:
    def test_a_token_in_the_address_lets_nobody_in(self, web, owner):
        token = web.tokens(owner)["access_token"]
        assert Client().get(f"{PROFILE}?access_token={token}").status_code == 401
        assert Client().get(f"{LIST}?token={token}").status_code == 401
        assert Client().post(LIST, {"access_token": token}).status_code == 401

    def test_a_code_in_the_address_gets_nothing(self, web, owner):
        query = urlencode({"code": web.code(owner), "client_id": web.id, "client_secret": web.secret})
        refused(Client().post(f"/oauth/token?{query}", {"grant_type": "authorization_code"}))
        assert OAuthGrant.objects.exists()

    def test_a_code_or_a_refresh_token_is_no_access_token(self, web, owner):
        assert call(web.code(owner)).status_code == 401
        assert call(web.tokens(owner)["refresh_token"]).status_code == 401

    def test_the_client_in_the_header_takes_precedence_over_the_body(self, web, owner):
        other = App(public=False)
        basic = "Basic " + base64.b64encode(f"{other.id}:{other.secret}".encode()).decode()
        data = {
            "grant_type": "authorization_code", "code": web.code(owner), "redirect_uri": REDIRECT,
            "client_id": web.id,
        }  # fmt: skip
        answer = Client().post("/oauth/token", data, HTTP_AUTHORIZATION=basic)
        assert answer.status_code in (400, 401)
        assert not OAuthAccessToken.objects.exists()

    def test_a_code_injected_into_the_session_of_another_lacks_its_verifier(self, spa, owner, stranger):
        """An attacker injects a code into the victim's app, or the reverse. PKCE ties the code to the session
        that began it."""
        victim = spa.verifier
        spa.verifier = "attacker" * 8
        code = spa.code(stranger)
        spa.verifier = victim
        refused(spa.exchange(code), "invalid_grant")

    def test_a_refresh_gets_no_more_however_it_asks(self, web, owner):
        for scope in (
            "*",
            "computes:*",
            "computes:read_write",
            "computes:read_only *",
            "COMPUTES:READ_WRITE",
            "\x00",
        ):
            token = web.tokens(owner, "computes:read_only")["refresh_token"]
            refused(web.refresh(token, scope=scope), "invalid_scope")

    def test_consent_needs_the_token_and_the_values_of_the_form(self, web, owner):
        browser = browser_of(owner)
        web.ask(browser)
        forged = {**web.wish("*"), "allow": "true", "csrfmiddlewaretoken": "x" * 64}
        assert browser.post("/oauth/authorize", forged).status_code == 403
        assert not OAuthGrant.objects.exists()

    def test_the_redirect_tells_the_app_no_address_of_ours(self, web, owner):
        assert web.ask(browser_of(owner))["Referrer-Policy"] == "same-origin"


def at_once(act, times: int = 6) -> list:
    """Call `act` in `times` threads at one moment, and return the results."""
    start = Barrier(times)

    def run(_):
        start.wait()
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(run, range(times)))


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_the_second_use_of_a_code_ends_the_token_of_the_first(self, app, owner):
        code = app.code(owner)
        answers = at_once(lambda: app.exchange(code))
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400, 400]
        [won] = [answer.json() for answer in answers if answer.status_code == 200]
        assert call(won["access_token"]).status_code == 401
        assert not OAuthAccessToken.objects.exists()

    def test_many_requests_with_one_refresh_token_end_its_family(self, web, owner):
        first = web.tokens(owner)["refresh_token"]
        answers = at_once(lambda: web.refresh(first))
        assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400, 400]
        [won] = [answer.json() for answer in answers if answer.status_code == 200]
        assert call(won["access_token"]).status_code == 401

    def test_many_first_answers_of_one_user_are_one_authorization(self, web, owner):
        browsers = [(browser, web.ask(browser)) for browser in (browser_of(owner) for _ in range(6))]

        def answer():
            browser, page = browsers.pop()
            fields = dict(page.context["parameters"]) | {"allow": "true"}
            return browser.post(
                "/oauth/authorize", {**fields, "csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
            )

        codes = [redirected(response)["code"] for response in at_once(answer)]
        assert OAuthGrant.objects.count() == 6
        assert not Authorization.objects.exists(), "before the first token"
        answers = at_once(lambda: web.exchange(codes.pop()))
        assert [answer.status_code for answer in answers] == [200] * 6
        assert Authorization.objects.count() == 1


def test_scripts_of_other_origins_may_trade_codes_but_not_ask_for_consent(spa, owner):
    origin = {"HTTP_ORIGIN": "https://evil.example"}
    page = browser_of(owner).get("/oauth/authorize", spa.wish(), **origin)
    assert "Access-Control-Allow-Origin" not in page
    assert spa.post("/oauth/token", {}, **origin)["Access-Control-Allow-Origin"] == "*"
    preflight = Client().options("/oauth/introspect", HTTP_ACCESS_CONTROL_REQUEST_METHOD="POST", **origin)
    assert "Access-Control-Allow-Origin" not in preflight
    assert quote(REDIRECT, safe="") not in page.headers.get("Location", "")
