"""Signing in and out, and the consent page."""

from html import unescape
from urllib.parse import parse_qs, urlencode

import pytest
from django.test import Client

from accounts.models import OAuthClient, OAuthGrant
from accounts.oauth.scopes import ContractScopes
from accounts.scopes import KNOWN, describe_all
from tests.accounts.apps import PROFILE, App, browser_of, redirected

pytestmark = pytest.mark.django_db
PASSWORD = "correct-horse-7-battery"


@pytest.fixture
def _passwords(owner, staff):
    for user in (owner, staff):
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])


def sign_in(browser: Client, username: str, **more):
    return browser.post("/login", {"username": username, "password": PASSWORD, **more})


@pytest.mark.usefixtures("_passwords")
class TestSigningIn:
    def test_leads_back_to_the_consent_page(self, web, owner):
        browser = Client()
        sent = web.ask(browser)
        assert sent.status_code == 302
        assert sent["Location"].startswith("/login?next=/oauth/authorize%3Fclient_id%3D")
        page = browser.get(sent["Location"])
        answer = sign_in(browser, "owner", next=page.context["next"])
        assert b"Dashboard" in browser.get(answer["Location"]).content

    def test_leads_to_no_other_site(self):
        assert sign_in(Client(), "owner", next="https://evil.example/")["Location"] == "/home"

    def test_is_signed_out_by_get(self):
        browser = Client()
        sign_in(browser, "owner")
        assert browser.get("/login")["Location"] == "/home"
        assert browser.get("/logout")["Location"] == "/signed-out"
        assert b"Password" in browser.get("/login").content

    def test_refuses_wrong_passwords_and_suspended_users(self, owner):
        assert (
            b"correct username and password"
            in Client().post("/login", {"username": "owner", "password": "wrong"}).content
        )
        owner.account.is_active = False
        owner.account.save()
        assert b"This account is suspended." in sign_in(Client(), "owner").content
        owner.is_active = False
        owner.save()
        assert "sessionid" not in sign_in(Client(), "owner").cookies

    def test_needs_the_pages_own_form(self):
        assert sign_in(Client(enforce_csrf_checks=True), "owner").status_code == 403

    def test_makes_a_session_the_api_ignores(self):
        browser = Client()
        sign_in(browser, "owner")
        assert browser.get(PROFILE).status_code == 401


class TestTheConsentPage:
    @pytest.mark.parametrize("name", ["", "\u200b", "\u202e", "\ufeff \u2060"], ids=ascii)
    def test_names_an_app_by_its_id_whose_name_nobody_can_see(self, app, owner, name):
        OAuthClient.objects.filter(client_id=app.id).update(name=name)
        text = app.ask(browser_of(owner)).content.decode()
        assert f'Give <bdi class="name">{app.id}</bdi> access?' in text

    def test_shows_hidden_characters_of_a_client_name(self, app, owner):
        OAuthClient.objects.filter(client_id=app.id).update(name="Bank\u202e\u200bknaB \u00e9\U000e0041")
        text = app.ask(browser_of(owner)).content.decode()
        assert "Bank[U+202E][U+200B]knaB \u00e9[U+E0041]" in text

    def test_names_the_app_the_user_and_the_scopes_in_plain_words(self, app, owner):
        page = app.ask(browser_of(owner), "computes:read_only,domains:read_write")
        text = unescape(page.content.decode())
        assert 'Give <bdi class="name">Dashboard</bdi> access?' in text
        assert "<strong>owner</strong>" in text
        assert "<li>See compute instances</li>" in text
        assert "<li>See, create, change and delete domains and their records</li>" in text
        assert "<strong>app.example</strong>" in text

    def test_explains_the_scope_star(self, web, owner):
        assert b"<li>Everything: see, create" in web.ask(browser_of(owner), "*").content

    def test_escapes_the_apps_name(self, owner):
        app = App(public=False, name="<script>alert(1)</script>")
        assert b"<script>" not in app.ask(browser_of(owner)).content

    def test_is_kept_by_no_cache_and_shown_in_no_frame(self, web, owner):
        page = web.ask(browser_of(owner))
        assert "no-store" in page["Cache-Control"]
        assert page["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]

    def test_gives_nothing_when_cancelled(self, app, owner):
        assert redirected(app.consent(browser_of(owner), allow=False)) == {"error": "access_denied", "state": "s&1"}
        assert not OAuthGrant.objects.exists()

    def test_gives_nothing_without_its_own_form(self, web, owner):
        assert browser_of(owner).post("/oauth/authorize", {**web.wish(), "allow": "true"}).status_code == 403
        assert not OAuthGrant.objects.exists()

    def test_is_shown_each_time(self, web, owner):
        web.client.skip_authorization = True
        web.client.save(update_fields=["skip_authorization"])
        web.tokens(owner)
        assert web.ask(browser_of(owner), approval_prompt="auto").status_code == 200

    def test_grants_the_scopes_of_its_form_not_of_its_address(self, web, owner):
        browser = browser_of(owner)
        page = web.ask(browser, "computes:read_only")
        fields = dict(page.context["parameters"])
        fields |= {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value, "allow": "true"}
        address = f"/oauth/authorize?{urlencode(web.wish('*', state='other'))}"
        assert redirected(browser.post(address, fields))["state"] == "s&1"
        assert OAuthGrant.objects.get().scope == "computes:read_only"

    def test_is_not_for_staff_without_an_account(self, web, staff):
        page = web.ask(browser_of(staff))
        assert page.status_code == 403
        assert b"has no active account" in page.content

    @pytest.mark.parametrize(
        "changed",
        [
            {"client_id": "0" * 20}, {"client_id": None}, {"client_id": "\x00"},
            {"redirect_uri": "https://evil.example/"}, {"redirect_uri": "/relative"}, {"redirect_uri": "\x00"},
        ],
    )  # fmt: skip
    def test_sends_nobody_to_where_no_app_is_known_to_be(self, app, owner, changed):
        page = app.ask(browser_of(owner), **changed)
        assert page.status_code == 400
        assert b"The app cannot have access" in page.content

    @pytest.mark.parametrize(
        "uri",
        [
            "https://app.example/done", "https://app.example/done/", "https://app.example/done?more=1",
            "https://app.example/done?more=1&from=skerry", "https://app.example/done?from=skerry2",
            "https://app.example/done/?from=skerry&more=1", "https://app.example:443/done?from=skerry&more=1",
            "https://app.example/done?from=skerry&more=1#x", "https://app.example/done?from=skerry&more=a b",
            "https://app.example/done?from=skerry&more=\x00", "https://app.example/done?from=skerry&more=é",
            "https://app.example/done?from=skerry;more=1", "https://app.example/done?from=skerry&" + "x" * 2000,
            "https://app.example/done?from=skerry#x", "https://app.example/done?from=skerry%23",
            "https://app.example/./done?from=skerry", "https://app.example/done;x?from=skerry",
            "https://APP.example/done?from=skerry", "https://app.example:443/done?from=skerry",
            "https://x@app.example/done?from=skerry", "https://app.example.evil.example/done?from=skerry",
            "https://app.example\\@evil.example/done?from=skerry", "http://app.example/done?from=skerry",
            "https://app.example/done?from=skerry https://evil.example", "https://[", "javascript:alert(1)",
            "https://app.example/done?from=skerry\n", "https://app.example/done?from=sk%65rry", "//app.example/",
        ],
    )  # fmt: skip
    def test_compares_addresses_letter_for_letter(self, app, owner, uri):
        assert app.ask(browser_of(owner), redirect_uri=uri).status_code == 400

    @pytest.mark.parametrize(
        ("registered", "added"),
        [
            ("https://app.example/done", "?next=/a/b%20c&x"),
            ("https://app.example/done", "?q=%ff+%2F"),
            ("https://app.example/done?", "x=1"),
            ("https://app.example/done?from=skerry", "&more=1&more=2"),
            ("https://app.example/done?from=skerry", "&"),
            ("https://app.example", "?x=1"),
            ("http://127.0.0.1:80/back?a=1", "&x=1"),
        ],
    )
    def test_lets_requests_add_to_the_query_and_keeps_that_to_the_letter(self, app, owner, registered, added):
        app.client.redirect_uris = registered
        app.client.save(update_fields=["redirect_uris"])
        uri, browser = registered + added, browser_of(owner)
        refused = app.consent(browser, allow=False, redirect_uri=uri)["Location"]
        assert refused.startswith(uri)
        assert parse_qs(refused.removeprefix(uri).lstrip("?&")) == {"error": ["access_denied"], "state": ["s&1"]}
        given = app.consent(browser, redirect_uri=uri)["Location"]
        assert given.startswith(uri)
        answer = parse_qs(given.removeprefix(uri).lstrip("?&"))
        assert answer["state"] == ["s&1"]
        code = answer["code"][0]
        for other in (registered, f"{uri}1", uri.replace(":80/", ":81/") if ":80/" in uri else f"{uri}&"):
            assert app.exchange(code, redirect_uri=other).json()["error"] == "invalid_grant"
        assert app.exchange(code, redirect_uri=uri).status_code == 200

    @pytest.mark.parametrize(
        "added", ["code=x", "state=x", "error=x", "iss=x", "a=1&code=x", "%63ode=x", "code", "from=x", "fr%6Fm=x"]
    )
    def test_refuses_added_parameters_with_names_of_the_answer(self, app, owner, added):
        uri = f"https://app.example/done?from=skerry&{added}"
        assert app.ask(browser_of(owner), redirect_uri=uri).status_code == 400

    @pytest.mark.parametrize(
        ("registered", "uri", "status"),
        [
            ("http://127.0.0.1/back", "http://127.0.0.1:51004/back", 200),
            ("http://[::1]:80/back?x=1", "http://[::1]:51004/back?x=1", 200),
            ("http://127.0.0.1:80", "http://127.0.0.1:81", 200),
            ("http://127.0.0.1/back?a=1&b=2", "http://127.0.0.1:51004/back?a=1&b=2", 200),
            ("http://127.0.0.1/back?a=1&b=2", "http://127.0.0.1:51004/back?a=1&b=2&b=3", 400),
            ("http://127.0.0.1/back", "http://127.0.0.1:51004/back?x=1", 200),
            ("http://127.0.0.1/back", "http://127.0.0.1:51004/back?code=1", 400),
            ("http://127.0.0.1/back", "http://127.0.0.1:51004/other", 400),
            ("http://127.0.0.1/back", "http://127.0.0.1:51004@evil.example/back", 400),
            ("http://127.0.0.1/back", "http://127.0.0.1.evil.example/back", 400),
            ("http://127.0.0.1/back", "http://[::1]/back", 400),
            ("http://localhost/back", "http://localhost:51004/back", 400),
            ("https://127.0.0.1/back", "https://127.0.0.1:51004/back", 400),
        ],
    )
    def test_leaves_apps_on_the_users_own_machine_their_port(self, web, owner, registered, uri, status):
        web.client.redirect_uris = registered
        web.client.save(update_fields=["redirect_uris"])
        assert web.ask(browser_of(owner), redirect_uri=uri).status_code == status

    def test_refuses_repeated_parameters(self, web, owner):
        query = f"{urlencode(web.wish())}&scope=*"
        assert browser_of(owner).get(f"/oauth/authorize?{query}").status_code == 400

    @pytest.mark.parametrize(
        "scope", ["", None, "computes", "computes:read_only none:read_only", "COMPUTES:read_only"]
    )
    def test_tells_the_app_of_scopes_that_are_none(self, app, owner, scope):
        assert redirected(app.ask(browser_of(owner), scope)) == {"error": "invalid_scope", "state": "s&1"}

    @pytest.mark.parametrize(
        "changed",
        [
            {"code_challenge": None, "code_challenge_method": None},
            {"code_challenge": ""},
            {"code_challenge": "x" * 129},
            {"code_challenge_method": None},
            {"code_challenge_method": "plain"},
            {"code_challenge_method": "S512"},
        ],
    )
    def test_asks_public_clients_for_a_sha256_challenge(self, spa, owner, changed):
        assert redirected(spa.ask(browser_of(owner), **changed))["error"] == "invalid_request"

    def test_does_not_ask_confidential_ones_for_a_challenge(self, web, owner):
        assert "code_challenge" not in web.wish()
        assert web.ask(browser_of(owner)).status_code == 200

    def test_stores_no_unsupported_parameters(self, web, owner):
        browser = browser_of(owner)
        extra = {"nonce": "n" * 300, "claims": '{"id_token": {}}', "resource": "https://api.example"}
        page = web.ask(browser, **extra)
        fields = dict(page.context["parameters"])
        fields |= {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value, "allow": "true", **extra}
        code = redirected(browser.post(f"/oauth/authorize?{urlencode(extra)}", fields))["code"]
        grant = OAuthGrant.objects.get()
        assert (grant.nonce, grant.claims, grant.resource) == ("", "{}", [])
        assert web.exchange(code, resource="https://other.example").status_code == 200


def test_every_scope_is_described_and_included_scopes_are_left_out():
    words = ContractScopes().get_all_scopes()
    assert words.keys() == KNOWN
    assert len(set(words.values())) == len(KNOWN)
    assert describe_all(["computes:read_only", "computes:read_write"]) == [words["computes:read_write"]]
