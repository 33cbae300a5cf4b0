"""Keys of an OpenID Connect provider, and failures of the provider."""

import dataclasses
import json
import logging
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from accounts import openid
from tests.accounts.providers import BACK, OUR_SECRET, key
from tests.accounts.signing_in import DESCRIPTION, come_in, refused, start, words
from tests.ports import free_port
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db


class TestItsKeys:
    def test_and_its_description_are_asked_for_once(self, forged, forger):
        for _ in range(3):
            assert come_in(Client(), forger.sign_in_there).status_code == 302
        assert [forger.asked.count(path) for path in (DESCRIPTION, "/keys", "/token")] == [
            1,
            1,
            3,
        ]

    def test_are_asked_for_again_where_a_new_one_signs(self, forged, forger):
        come_in(Client(), forger.sign_in_there)
        forger.keys.append(key("two"))
        forger.header = {"alg": "RS256", "kid": "two"}
        for _ in range(2):
            assert come_in(Client(), forger.sign_in_there).status_code == 302
        assert forger.asked.count("/keys") == 2

    def test_are_asked_for_again_where_the_new_one_has_the_old_name(self, forged, forger):
        come_in(Client(), forger.sign_in_there)
        forger.keys = [key("one", 2)]
        assert come_in(Client(), forger.sign_in_there).status_code == 302

    def test_withdrawn_keys_are_accepted_for_at_most_an_hour(self, forged, forger):
        come_in(Client(), forger.sign_in_there)
        openid._known[forger.config].at -= openid.FRESH_FOR
        old = forger.keys[0]
        forger.keys = [key("two"), old]
        forger.answers["/keys"] = (200, json.dumps({"keys": [forger.keys[0].as_dict(private=False)]}).encode())
        browser = Client()
        assert come_in(browser, forger.sign_in_there).status_code == 502

    @pytest.mark.parametrize("body", [b"{}", b'{"keys": []}', b'{"keys": {}}', b'{"keys": [{"kty": 1}]}'])
    def test_malformed_keys_are_not_cached(self, forged, forger, body):
        forger.answers["/keys"] = (200, body)
        assert come_in(Client(), forger.sign_in_there).status_code == 502
        del forger.answers["/keys"]
        assert come_in(Client(), forger.sign_in_there).status_code == 302

    def test_inside_the_description_are_ignored(self, forged, forger):
        """Keys belong at the `jwks_uri`, which is fetched again. Keys inside the description are ignored."""
        forger.document = {"jwks": {"keys": [key("own").as_dict(private=False)]}}
        forger.header, forger.keys = {"alg": "RS256", "kid": "own"}, [key("one"), key("own")]
        forger.answers["/keys"] = (200, json.dumps({"keys": [key("one").as_dict(private=False)]}).encode())
        assert come_in(Client(), forger.sign_in_there).status_code == 502

    @pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
    def test_the_secret_is_sent_by_the_method_of_the_provider(self, forged, forger, method):
        forger.document = {"token_endpoint_auth_methods_supported": [method]}
        assert come_in(Client(), forger.sign_in_there).status_code == 302
        form = forger.forms[0]
        assert form.get("client_secret") == ([OUR_SECRET] if method == "client_secret_post" else None)
        assert len(form["code_verifier"][0]) >= 43
        assert form["redirect_uri"] == [BACK]


class TestItsDescription:
    """Authlib passes the description to its sessions, where some of its names are options."""

    def test_does_not_turn_the_proof_of_the_question_off(self, forged, forger):
        forger.document = {"code_challenge_method": None, "scope": "openid", "redirect_uri": "https://evil.example"}
        wish = dict(parse_qsl(urlsplit(start(Client())).query))
        assert wish["code_challenge_method"] == "S256"
        assert (wish["redirect_uri"], wish["scope"]) == (BACK, "openid profile email")

    def test_sets_no_option_of_the_session(self, forged, forger):
        forger.document = {"proxies": {"http": "http://127.0.0.1:1"}, "verify": False, "client_id": "other"}
        assert come_in(Client(), forger.sign_in_there).status_code == 302
        assert forger.asked.count("/token") == 1


class TestAProviderInTrouble:
    def test_a_provider_that_is_down_is_reported(self, forger, settings):
        settings.OPENID = dataclasses.replace(forger.config, issuer=f"http://127.0.0.1:{free_port()}")
        answer = Client().post("/login/external")
        assert (answer.status_code, "Forged ID does not answer" in words(answer)) == (503, True)

    @pytest.mark.parametrize("path", [DESCRIPTION, "/token", "/keys"])
    def test_a_slow_provider_is_abandoned_after_the_time_limit(self, forged, forger, settings, path):
        """The provider sends a byte now and then, so no timeout of the socket ever expires."""
        browser = Client()
        back = None if path == DESCRIPTION else forger.sign_in_there(start(browser))
        settings.OPENID = dataclasses.replace(forger.config, timeout=0.5)
        forger.stall = path
        answer = browser.post("/login/external") if back is None else browser.get(back)
        assert not forger.release.is_set()
        assert "Forged ID does not answer" in refused(browser, answer, 503)

    def test_a_slow_provider_gets_no_requests_for_a_while(self, forger, settings, monkeypatch):
        """Otherwise every click on the button would block a web process."""
        settings.OPENID = dataclasses.replace(forger.config, timeout=0.5)
        monkeypatch.setattr(openid, "PAUSE_SECONDS", 3600)
        forger.stall = DESCRIPTION
        for _ in range(3):
            assert Client().post("/login/external").status_code == 503
        wait_for(lambda: forger.asked)  # a request that was given up may arrive late
        assert forger.asked == [DESCRIPTION]
        forger.stall, settings.OPENID = None, forger.config
        openid._silent_until[forger.issuer] -= openid.PAUSE_SECONDS
        assert Client().post("/login/external").status_code == 302

    @pytest.mark.parametrize(("status", "shown"), [(500, 503), (503, 503), (404, 503)])
    def test_a_failing_provider_is_reported_as_not_answering(self, forger, status, shown):
        forger.answers[DESCRIPTION] = (status, b"<h1>Oops</h1>")
        assert Client().post("/login/external").status_code == shown

    def test_is_logged_without_codes_and_secrets(self, forged, forger, caplog):
        forger.answers["/token"] = (400, b'{"error": "invalid_client", "error_description": "who?"}')
        browser = Client()
        with caplog.at_level(logging.DEBUG):
            back = forger.sign_in_there(start(browser), "the-code")
            browser.get(back)
        line = next(each.getMessage() for each in caplog.records if each.name == "accounts.pages.external")
        assert "invalid_client" in line
        ours = "\n".join(each.getMessage() for each in caplog.records if not each.name.startswith("urllib3"))
        assert OUR_SECRET not in ours
        assert "the-code" not in ours

    def test_no_verifier_is_logged(self, forger, caplog):
        with caplog.at_level(logging.DEBUG):
            browser = Client()
            start(browser)
        verifier = browser.session["external"]["verifier"]
        assert len(verifier) == 64
        assert verifier not in caplog.text

    def test_tries_are_counted_by_address(self, forger, limit):
        limit(login_address="2/60")
        here, there = Client(REMOTE_ADDR="198.51.100.7"), Client(REMOTE_ADDR="198.51.100.8")
        answers = [here.post("/login/external") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [302, 302, 429]
        assert 0 < int(answers[-1]["Retry-After"]) <= 60
        assert "Too many attempts. Try again in " in answers[-1].content.decode()
        assert there.post("/login/external").status_code == 302
