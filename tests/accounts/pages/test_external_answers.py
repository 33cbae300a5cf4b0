"""Answers of an OpenID Connect provider, and which of them are accepted."""

import base64
import dataclasses
import hashlib
import hmac
import json
import time
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from joserfc import jwt

from accounts import openid
from tests.accounts.providers import OUR_SECRET, key
from tests.accounts.signing_in import come_in, refused, start, tie

pytestmark = pytest.mark.django_db


def part(value: dict) -> str:
    """Return one encoded part of a token."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def mac(secret: bytes, signed: str) -> str:
    """Return a signature by HS256 with a shared secret."""
    digest = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class TestAnswersThatAreNotBelieved:
    def test_a_good_one_is(self, forged, forger):
        """An unchanged answer is accepted, so each other test fails because of its own change."""
        assert come_in(Client(), forger.sign_in_there)["Location"] == "/home"

    @pytest.mark.parametrize(
        "claims",
        [
            {"nonce": "another"}, {"nonce": None}, {"nonce": ""},
            {"aud": "somebody-else"}, {"aud": None}, {"aud": []}, {"aud": {"our-id": 1}},
            {"aud": ["our-id", "other"]}, {"aud": ["our-id", "other"], "azp": "other"}, {"azp": "other"},
            {"iss": "https://evil.example"}, {"iss": None}, {"iss": ["x"]},
            {"exp": 1_700_000_000}, {"exp": None}, {"exp": "tomorrow"}, {"exp": True}, {"iat": None},
            {"iat": 99_999_999_999}, {"nbf": 99_999_999_999},
            {"sub": None}, {"sub": 7}, {"sub": ""}, {"sub": "x" * 256}, {"sub": "ka\x00ri"},
            {"at_hash": "x"},
        ],
        ids=str,
    )  # fmt: skip
    def test_claims(self, forged, forger, claims):
        forger.claims = claims
        browser = Client()
        page = refused(browser, come_in(browser, forger.sign_in_there), 502)
        assert "The answer of Forged ID is not valid" in page

    def test_a_clock_may_be_a_little_off(self, forged, forger, monkeypatch):
        monkeypatch.setattr(openid, "MAX_SKEW_SECONDS", 600)
        moment = int(time.time())
        forger.claims = {"exp": moment - openid.MAX_SKEW_SECONDS // 2, "iat": moment + openid.MAX_SKEW_SECONDS // 2}
        assert come_in(Client(), forger.sign_in_there).status_code == 302

    def test_several_audiences_where_we_are_the_party(self, forged, forger):
        forger.claims = {"aud": ["our-id", "other"], "azp": "our-id"}
        assert come_in(Client(), forger.sign_in_there).status_code == 302

    def forge(self, forger, token: str) -> None:
        body = {"access_token": "a", "token_type": "Bearer", "id_token": token}
        forger.answers["/token"] = (200, json.dumps(body).encode())

    @pytest.mark.parametrize("way", ["none", "unsigned", "our secret", "public key", "another key", "altered"])
    def test_signatures(self, forged, forger, way):
        browser = Client()
        back = forger.sign_in_there(start(browser))
        header, body, signature = forger.id_token("kari").split(".")
        claims = json.loads(base64.urlsafe_b64decode(f"{body}=="))
        unsigned, symmetric = part({"alg": "none", "kid": "one"}), part({"alg": "HS256", "kid": "one"})
        public = forger.keys[0].as_pem(private=False)
        forge = {
            "none": lambda: f"{unsigned}.{body}.",
            "unsigned": lambda: f"{header}.{body}.",
            "our secret": lambda: f"{symmetric}.{body}.{mac(OUR_SECRET.encode(), f'{symmetric}.{body}')}",
            "public key": lambda: f"{symmetric}.{body}.{mac(public, f'{symmetric}.{body}')}",
            "another key": lambda: jwt.encode(forger.header, claims, key("one", 2), ["RS256"]),
            "altered": lambda: f"{header}.{part({**claims, 'sub': 'root'})}.{signature}",
        }[way]
        self.forge(forger, forge())
        refused(browser, browser.get(back), 502)

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"garbage", b"null", b"[]", b"{}", b"[" * 100_000, b'{"id_token": null}', b'{"id_token": 7}',
            b'{"id_token": "a.b.c"}', b'{"id_token": "a.b.c.d.e"}', b'{"id_token": "\xff"}',
            b'{"error": "invalid_grant"}', b'{"error": {"a": 1}}', b'{"id_token": "a.b.c", "expires_in": 1e999}',
            b'{"id_token": "a.b.c", "expires_at": "soon"}', b'{"a": "' + b"x" * 600_000 + b'"}',
        ],
        ids=lambda body: repr(body[:40]),
    )  # fmt: skip
    def test_bodies_of_the_token_endpoint(self, forged, forger, body):
        forger.answers["/token"] = (200, body)
        browser = Client()
        refused(browser, come_in(browser, forger.sign_in_there), 502)

    @pytest.mark.parametrize(
        "body", [b"x", b"[]", b"{}", b'{"keys": {}}', b'{"keys": []}', b'{"keys": [{"kty": 1}]}']
    )
    def test_bodies_of_the_keys(self, forged, forger, body):
        forger.answers["/keys"] = (200, body)
        browser = Client()
        refused(browser, come_in(browser, forger.sign_in_there), 502)

    @pytest.mark.parametrize(
        "document",
        [
            {"issuer": "https://evil.example"}, {"issuer": None}, {"authorization_endpoint": "javascript:alert(1)"},
            {"token_endpoint": None}, {"token_endpoint": "/token"}, {"jwks_uri": 7}, {"jwks_uri": "file:///etc/x"},
        ],
        ids=str,
    )  # fmt: skip
    def test_descriptions(self, forger, document):
        forger.document = document
        assert Client().post("/login/external").status_code == 502

    def test_no_secret_is_sent_along_a_redirect(self, forged, forger):
        forger.answers["/token"] = (302, f"{forger.issuer}/elsewhere".encode())
        browser = Client()
        refused(browser, come_in(browser, forger.sign_in_there), 502)
        assert "/elsewhere" not in forger.asked

    def test_an_issuer_in_the_address_that_is_another(self, forged, forger):
        browser = Client()
        back = forger.sign_in_there(start(browser))
        refused(browser, browser.get(f"{back}&iss=https://evil.example"), 502)
        assert "/token" not in forger.asked

    def test_no_issuer_in_the_address_where_the_provider_always_has_one(self, forged, forger):
        forger.document = {"authorization_response_iss_parameter_supported": True}
        browser = Client()
        back = forger.sign_in_there(start(browser))
        openid.forget()  # another process handles the answer
        refused(browser, browser.get(back), 502)
        back = forger.sign_in_there(start(browser))
        assert browser.get(f"{back}&iss={forger.issuer}").status_code == 302


class TestAnswersThatNobodyWaitsFor:
    @pytest.mark.parametrize("state", ["wrong", "", None])
    def test_another_state(self, forged, forger, state):
        browser = Client()
        start(browser)
        query = {"code": "kari"} if state is None else {"code": "kari", "state": state}
        assert "Begin again" in refused(browser, browser.get("/login/external/callback", query), 400)
        assert "/token" not in forger.asked

    def test_another_browser(self, forged, forger):
        back = forger.sign_in_there(start(Client()))
        browser = Client()
        refused(browser, browser.get(back), 400)
        assert "/token" not in forger.asked

    def test_an_answer_after_ten_minutes_is_refused(self, forged, forger):
        browser = Client()
        back = forger.sign_in_there(start(browser))
        session = browser.session
        session["external"] = {**session["external"], "at": time.time() - 601}
        session.save()
        refused(browser, browser.get(back), 400)

    def test_a_failed_answer_cannot_be_used_again(self, forged, forger):
        forger.answers["/token"] = (503, b"")
        browser = Client()
        back = forger.sign_in_there(start(browser))
        assert browser.get(back).status_code == 503
        del forger.answers["/token"]
        refused(browser, browser.get(back), 400)

    def test_a_refusal_of_the_provider_is_shown_plainly(self, forged, forger, caplog):
        browser = Client()
        state = dict(parse_qsl(urlsplit(start(browser)).query))["state"]
        query = {"state": state, "error": "access_denied", "error_description": "<b>no</b>\nforged line"}
        answer = browser.get("/login/external/callback", query)
        assert "Forged ID did not say who you are." in refused(browser, answer, 403)
        assert b"<b>no" not in answer.content
        assert "access_denied" in caplog.text
        assert "\nforged line" not in caplog.text

    def test_neither_code_nor_error(self, forged, forger):
        browser = Client()
        state = dict(parse_qsl(urlsplit(start(browser)).query))["state"]
        refused(browser, browser.get("/login/external/callback", {"state": state}), 502)


class TestAClaimThatIsNotTheSubject:
    @pytest.fixture(autouse=True)
    def _email(self, owner, forger, settings):
        settings.OPENID = dataclasses.replace(forger.config, claim="email")
        tie(owner, forger.config, "kari@example.com")

    def test_tells_people_apart_in_its_place(self, forger):
        forger.claims = {"email": "kari@example.com", "email_verified": True}
        assert come_in(Client(), forger.sign_in_there).status_code == 302

    @pytest.mark.parametrize("verified", [False, None, "true", 1])
    def test_is_no_address_that_the_provider_has_not_verified(self, forger, verified):
        forger.claims = {"email": "kari@example.com", "email_verified": verified}
        browser = Client()
        refused(browser, come_in(browser, forger.sign_in_there), 502)
