"""Signing in with an OpenID Connect provider instead of a password."""

import io
import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from accounts.models import Event, ExternalIdentity, Login, Message, SecondFactor, TrustedDevice, User
from accounts.services import external
from config.encryption import encrypt_json
from config.errors import Invalid
from tests.accounts.pages.browsers import has_inline
from tests.accounts.providers import BACK, sign_in_there
from tests.accounts.signing_in import NEW, PASSWORD, SECRET, code, come_in, is_in, path_in_mail, start, tie, words
from tests.factories import UserFactory
from tests.oidc_provider import subject_of

pytestmark = pytest.mark.django_db


class TestWithARealProvider:
    def test_a_known_user_signs_in_and_the_login_is_recorded(self, tied):
        browser = Client(REMOTE_ADDR="198.51.100.7")
        assert come_in(browser, sign_in_there)["Location"] == "/home"
        assert "with Example ID, as kari" in words(browser.get("/home/profile/sign-in"))
        noted = Login.objects.get()
        assert (noted.user, noted.ip) == (tied, "198.51.100.7")

    def test_the_request_has_all_values_that_the_answer_is_checked_against(self, provider):
        asked = urlsplit(start(Client()))
        wish = dict(parse_qsl(asked.query))
        assert f"{asked.scheme}://{asked.netloc}{asked.path}" == f"{provider.issuer}/authorize/"
        assert (wish["response_type"], wish["redirect_uri"]) == ("code", BACK)
        assert (wish["client_id"], wish["scope"]) == (provider.client_id, "openid profile email")
        assert wish["code_challenge_method"] == "S256"
        assert min(len(wish[name]) for name in ("state", "nonce", "code_challenge")) >= 32
        again = dict(parse_qsl(urlsplit(start(Client())).query))
        assert not {wish[name] for name in ("state", "nonce", "code_challenge")} & set(again.values())

    def test_only_a_user_who_chose_the_identity_is_signed_in(self, provider, account):
        UserFactory(account=account, username="kari", email="kari@id.example")
        browser = Client()
        answer = come_in(browser, sign_in_there)
        assert answer.status_code == 403
        assert "No user here has chosen to sign in as kari" in words(answer)
        assert not is_in(browser)
        assert not ExternalIdentity.objects.exists()

    def test_an_answer_counts_once(self, tied):
        browser = Client()
        back = sign_in_there(start(browser), "kari")
        assert browser.get(back).status_code == 302
        browser.get("/logout")
        assert browser.get(back).status_code == 400
        assert not is_in(browser)

    def test_a_code_that_was_used_is_refused_by_the_provider(self, tied):
        """An attacker who saw the code cannot use it after its first use, or without the verifier."""
        browser, thief = Client(), Client()
        seen = dict(parse_qsl(urlsplit(sign_in_there(start(browser), "kari")).query))
        state = dict(parse_qsl(urlsplit(start(thief)).query))["state"]
        answer = thief.get("/login/external/callback", {**seen, "state": state})
        assert answer.status_code == 502
        assert not is_in(thief)

    def test_it_leads_to_where_one_wanted_to_go(self, tied):
        assert come_in(Client(), sign_in_there, next="/docs")["Location"] == "/docs"

    @pytest.mark.parametrize(
        "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1"]
    )
    def test_and_nowhere_else(self, tied, target):
        assert come_in(Client(), sign_in_there, next=target)["Location"] == "/home"

    def test_the_browser_is_remembered_where_that_was_wanted(self, tied):
        browser = Client()
        come_in(browser, sign_in_there, remember="on")
        assert TrustedDevice.objects.get().user == tied
        browser.get("/logout")
        come_in(browser, sign_in_there)
        assert TrustedDevice.objects.count() == 1

    def test_a_second_factor_of_ours_is_asked_for_all_the_same(self, tied):
        SecondFactor.objects.create(user=tied, encrypted=encrypt_json({"secret": SECRET}), scratch="")
        User.objects.filter(pk=tied.pk).update(two_factor_auth=True)
        browser = Client()
        assert come_in(browser, sign_in_there, next="/docs", remember="on")["Location"] == "/login/code"
        assert not is_in(browser)
        assert not Login.objects.exists()
        assert browser.post("/login/code", {"code": code()})["Location"] == "/docs"
        assert is_in(browser)
        browser.get("/logout")
        assert come_in(browser, sign_in_there)["Location"] == "/home", "the browser is remembered"

    @pytest.mark.parametrize("who", ["user", "account"])
    def test_the_suspended_stay_out(self, tied, who):
        suspended = tied if who == "user" else tied.account
        suspended.is_active = False
        suspended.save()
        browser = Client()
        answer = come_in(browser, sign_in_there)
        assert (answer.status_code, "suspended" in words(answer)) == (403, True)
        assert not is_in(browser)
        assert not Login.objects.exists()

    def test_staff_come_in_by_the_same_door(self, staff, provider):
        tie(staff, provider, subject_of("ola"))
        browser = Client()
        assert come_in(browser, sign_in_there, "ola", next="/admin/")["Location"] == "/admin/"
        assert browser.get("/admin/").status_code == 200


class TestTheirPasswords:
    def test_are_refused_like_wrong_ones(self, tied, account):
        """Even if a password exists, as after staff set one in the admin."""
        UserFactory(account=account, username="other", password=PASSWORD)
        tied.set_password(PASSWORD)
        tied.save()
        answers = [
            Client().post("/login", {"username": name, "password": password})
            for name, password in (("owner", PASSWORD), ("other", "wrong"))
        ]
        texts = [re.sub(r'value="[^"]*"', "", each.content.decode()) for each in answers]
        assert texts[0] == texts[1]
        assert not Login.objects.exists()

    def test_cannot_be_forgotten(self, tied):
        sent = Message.objects.count()
        Client().post("/password/forgotten", {"name": "owner"})
        assert Message.objects.exclude(recipient="").count() == sent

    def test_the_profile_shows_the_type_of_authentication(self, tied, client_for):
        assert client_for(tied).get("/v4/profile").json()["authentication_type"] == "github"

    def test_tokens_are_as_before(self, with_password, provider, client_for):
        api = client_for(with_password)
        tie(with_password, provider, "x")
        assert api.put("/v4/profile", {"email": "new@example.com"}).status_code == 200
        assert api.get("/v4/profile").json()["email"] == "new@example.com"


class TestGoingBackToAPassword:
    def test_by_a_mail_and_nothing_changes_before(self, tied):
        browser = Client()
        come_in(browser, sign_in_there)
        assert "Check your email" in words(browser.post("/home/external/password", follow=True))
        path = path_in_mail()
        assert external.identity_of(tied) is not None
        assert is_in(browser)
        visitor = Client()
        page = visitor.get(path, follow=True)
        assert "instead" not in words(page)
        visitor.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        assert Client().post("/login", {"username": "owner", "password": NEW}).status_code == 302
        assert come_in(Client(), sign_in_there).status_code == 403
        tied.refresh_from_db()
        assert tied.authentication_type == "password"
        assert not ExternalIdentity.objects.exists()

    def test_an_address_in_a_mail_ends_with_the_next_sign_in(self, tied):
        browser = Client()
        come_in(browser, sign_in_there)
        User.objects.update(last_login=now() - timedelta(hours=1))
        browser.post("/home/external/password")
        path = path_in_mail()
        assert come_in(Client(), sign_in_there)["Location"] == "/home"
        assert "does not work any more" in words(Client().get(path, follow=True))

    def test_users_with_a_password_get_no_mail(self, with_password, provider):
        browser = Client()
        browser.post("/login", {"username": "owner", "password": PASSWORD})
        browser.post("/home/external/password")
        assert not Message.objects.exists()
        with pytest.raises(Invalid):
            external.ask_for_password(with_password)

    def test_mails_are_limited(self, tied, limit):
        browser = Client()
        come_in(browser, sign_in_there)
        limit(password_mail="1/60")
        assert [browser.post("/home/external/password").status_code for _ in range(2)] == [302, 429]

    def test_by_staff_at_once(self, tied):
        browser, printed = Client(), io.StringIO()
        come_in(browser, sign_in_there)
        Event.objects.all().delete()
        call_command("use_password", "owner", stdout=printed)
        assert not is_in(browser)
        assert come_in(Client(), sign_in_there).status_code == 403
        path = path_in_mail()
        assert printed.getvalue() == f"http://testserver{path}\n"
        assert "Set a password" in words(Client().get(path, follow=True))
        assert (Event.objects.get().action, Event.objects.get().username) == ("user_update", "")
        with pytest.raises(CommandError, match="already"):
            call_command("use_password", "owner")
        with pytest.raises(CommandError, match="no user 'nobody'"):
            call_command("use_password", "nobody")

    def test_staff_without_an_account_can_return_to_a_password(self, staff, provider):
        tie(staff, provider, "x")
        call_command("use_password", "staff", stdout=io.StringIO())
        assert User.objects.get(pk=staff.pk).authentication_type == "password"
        assert not Event.objects.exists()


class TestWithoutAProvider:
    @pytest.mark.parametrize(
        "path", ["/login/external", "/login/external/callback", "/home/external", "/home/external/password"]
    )
    def test_the_pages_do_not_exist(self, owner, path, settings):
        settings.OPENID = None
        browser = Client()
        browser.force_login(owner)
        assert [call(path).status_code for call in (browser.get, browser.post)] == [404, 404]

    def test_no_page_speaks_of_it(self, owner, settings, client_for):
        settings.OPENID = None
        browser = Client()
        assert b"external" not in browser.get("/login").content
        browser.force_login(owner)
        assert b"external" not in browser.get("/home/profile/sign-in").content
        client_for(owner).post("/v4/account/users", {"username": "ola", "email": "ola@example.com"})
        page = Client().get(path_in_mail(), follow=True)
        assert b"external" not in page.content
        assert Client().post(page.request["PATH_INFO"], {"external": ""}).status_code == 200

    def test_users_of_a_provider_that_is_turned_off_see_a_notice(self, forged, settings):
        settings.OPENID = None
        browser = Client()
        browser.force_login(forged)
        assert "a provider that is turned off" in words(browser.get("/home/profile/sign-in"))


def test_the_button_is_on_the_login_page(provider):
    page = Client().get("/login")
    assert "Sign in with Example ID" in words(page)
    assert b'formaction="/login/external"' in page.content


@pytest.mark.parametrize("path", ["/home/external", "/login/external/callback"])
def test_its_pages_are_kept_by_no_cache_and_have_nothing_inline(owner, provider, path):
    browser = Client()
    browser.force_login(owner)
    page = browser.get(path)
    assert "no-store" in page["Cache-Control"]
    assert page["Content-Security-Policy"].startswith("default-src 'none'")
    assert not has_inline(page.content)


def test_an_identity_goes_with_its_user(tied):
    User.objects.filter(pk=tied.pk).delete()
    assert not ExternalIdentity.objects.exists()


def test_a_session_of_a_remembered_browser_lasts_as_ever(tied):
    browser = Client()
    come_in(browser, sign_in_there, remember="on")
    assert TrustedDevice.objects.get().expiry - now() > timedelta(days=29)
    assert is_in(browser)
