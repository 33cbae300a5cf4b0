"""The pages on which users sign in, and their messages."""

import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.hashers import make_password
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.hashers import PasswordHasher
from accounts.models import Event, Login, Message, SecondFactor, SSHKey, TrustedDevice, User
from accounts.services import outbox
from config.encryption import encrypt_json
from tests.accounts.apps import call
from tests.accounts.pages.browsers import has_inline
from tests.accounts.signing_in import SECRET, code
from tests.factories import UserFactory, token_of

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "correct-horse-7-battery", "Tall-ships.sail-at-9"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"


@pytest.fixture(autouse=True)
def _passwords(owner, staff):
    for user in (owner, staff):
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])


@pytest.fixture
def factor(owner) -> None:
    """The owner has a second factor."""
    SecondFactor.objects.create(user=owner, encrypted=encrypt_json({"secret": SECRET}), scratch="")
    User.objects.filter(pk=owner.pk).update(two_factor_auth=True)


def sign_in(browser: Client, username: str = "owner", password: str = PASSWORD, **more):
    return browser.post("/login", {"username": username, "password": password, **more})


def is_in(browser: Client) -> bool:
    return browser.get("/home/profile").status_code == 200


class TestPasswords:
    def test_a_right_one_leads_home_and_is_written_down(self, owner):
        browser = Client(REMOTE_ADDR="198.51.100.7")
        assert sign_in(browser)["Location"] == "/home"
        assert is_in(browser)
        noted = Login.objects.get()
        assert (noted.user, noted.ip, noted.restricted) == (owner, "198.51.100.7", False)

    def test_a_wrong_one_says_no_more_than_a_wrong_name(self):
        answers = [sign_in(Client(), name, "wrong") for name in ("owner", "nobody")]
        texts = [re.sub(r'value="[^"]*"', "", each.content.decode()) for each in answers]
        assert texts[0] == texts[1]
        assert not Login.objects.exists()

    @pytest.mark.parametrize("name", ["owner", "nobody"])
    def test_too_many_tries_lock_a_name_at_an_address(self, limit, name):
        limit(login="3/60")
        answers = [sign_in(Client(), name, "wrong") for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        page = answers[-1].content.decode()
        assert re.search(r"Too many attempts. Try again in \d+ seconds?, at [\d:]{8} UTC.", page)
        assert 0 < int(answers[-1]["Retry-After"]) <= 60

    def test_the_right_one_is_refused_there_while_the_name_is_locked(self, limit):
        limit(login="2/60")
        for _ in range(2):
            sign_in(Client(), password="wrong")
        browser = Client()
        assert sign_in(browser, "OWNER").status_code == 429
        assert not is_in(browser)

    def test_strangers_elsewhere_lock_nobody_out(self, limit):
        limit(login="1/60")
        for n in range(3):
            sign_in(Client(REMOTE_ADDR=f"198.51.100.{n}"), password="wrong")
        assert sign_in(Client(REMOTE_ADDR="198.51.100.9")).status_code == 302

    def test_strangers_at_a_known_address_do_not_lock_the_user_out(self, limit):
        limit(login="2/60", login_address="2/60")
        browser = Client()
        sign_in(browser)
        browser.get("/logout")
        while sign_in(Client(), password="wrong").status_code != 429:
            pass
        assert sign_in(browser).status_code == 302

    def test_the_tries_of_a_known_browser_are_limited_as_well(self, limit):
        browser = Client()
        sign_in(browser)
        limit(login="2/60")
        assert [sign_in(browser, password="wrong").status_code for _ in range(3)] == [200, 200, 429]

    @pytest.mark.parametrize("case", ["forged", "another's"])
    def test_only_a_proof_for_that_very_name_makes_a_browser_known(self, limit, stranger, case):
        limit(login="1/60")
        browser = Client()
        if case == "forged":
            browser.cookies["skerry_known"] = "x" * 22 + "." + "0" * 64
        else:
            stranger.set_password(PASSWORD)
            stranger.save(update_fields=["password"])
            sign_in(browser, "stranger")
        assert [sign_in(browser, password="wrong").status_code for _ in range(2)] == [200, 429]

    def test_a_browser_is_known_for_several_users_and_does_not_tell_their_names(self, stranger):
        stranger.set_password(PASSWORD)
        stranger.save(update_fields=["password"])
        browser = Client()
        for name in ("owner", "stranger", "owner"):
            sign_in(browser, name)
        cookie = browser.cookies["skerry_known"]
        assert (cookie["httponly"], cookie["samesite"], cookie.value.count("~")) == (True, "Lax", 1)
        assert "owner" not in cookie.value

    @pytest.mark.parametrize("who", ["known", "nobody", "suspended", "account", "provider", "without"])
    def test_a_wrong_password_costs_one_hash_for_every_kind_of_user(self, owner, monkeypatch, who):
        """Hashes are counted, not timed. Message and cost are the same for all users."""
        if who == "suspended":
            User.objects.filter(pk=owner.pk).update(is_active=False)
        elif who == "account":
            type(owner.account).objects.update(is_active=False)
        elif who in ("provider", "without"):
            User.objects.filter(pk=owner.pk).update(
                password=make_password(None), authentication_type="github" if who == "provider" else User.PASSWORD
            )
        hashed, hash_by = [], PasswordHasher

        def counted(work):
            return lambda *given: (hashed.append(work.__name__), work(*given))[1]

        for work in (hash_by.encode, hash_by.verify):
            monkeypatch.setattr(hash_by, work.__name__, counted(work))
        with CaptureQueriesContext(connection) as asked:
            answer = sign_in(Client(), "nobody" if who == "nobody" else "owner", "wrong")
        assert answer.status_code == 200
        assert len(hashed) == 1
        assert len(asked) == 1

    @pytest.mark.parametrize("written", [" owner", "owner\u3000", "OWNER", "\uff4fwner", " " * 70 + "owner"])
    def test_a_locked_name_is_locked_however_it_is_written(self, limit, written):
        limit(login="1/60")
        sign_in(Client(), "owner", "wrong")
        assert sign_in(Client(), written).status_code == 429

    def test_a_pause_comes_before_the_lock(self, limit):
        limit(login_pause="1/60")
        assert [sign_in(Client(), password="wrong").status_code for _ in range(2)] == [200, 429]

    def test_too_many_tries_lock_an_address_for_all_names(self, limit):
        limit(login_address="3/60")
        answers = [sign_in(Client(REMOTE_ADDR="198.51.100.7"), f"user{n}", "wrong") for n in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        assert sign_in(Client(REMOTE_ADDR="198.51.100.8")).status_code == 302

    def test_an_ipv6_network_counts_as_one_address(self, limit):
        limit(login_address="1/60")
        near, far = "2001:db8:0:1::2", "2001:db8:0:2::1"
        answers = [sign_in(Client(REMOTE_ADDR=each), f"user{each}", "wrong") for each in ("2001:db8:0:1::1", near)]
        assert [each.status_code for each in answers] == [200, 429]
        assert sign_in(Client(REMOTE_ADDR=far)).status_code == 302
        assert Login.objects.get().ip == far

    def test_an_ipv4_address_is_the_same_in_ipv6(self, limit):
        limit(login_address="1/60")
        sign_in(Client(REMOTE_ADDR="198.51.100.7"), password="wrong")
        assert sign_in(Client(REMOTE_ADDR="::ffff:198.51.100.7")).status_code == 429
        assert sign_in(Client(REMOTE_ADDR="::ffff:198.51.100.8")).status_code == 302

    def test_a_header_that_no_proxy_wrote_is_only_a_claim(self):
        browser = Client(REMOTE_ADDR="198.51.100.7", HTTP_X_FORWARDED_FOR="203.0.113.9")
        sign_in(browser)
        assert Login.objects.get().ip == "198.51.100.7"


class TestTheSecondFactor:
    def test_a_password_alone_lets_nobody_in(self, factor):
        browser = Client()
        assert sign_in(browser)["Location"] == "/login/code"
        assert not is_in(browser)
        assert not Login.objects.exists()

    def test_a_code_does_and_leads_to_where_one_wanted_to_go(self, factor):
        browser = Client()
        sign_in(browser, next="/docs")
        assert browser.post("/login/code", {"code": code()})["Location"] == "/docs"
        assert is_in(browser)
        assert Login.objects.count() == 1

    def test_a_wrong_code_does_not(self, factor):
        browser = Client()
        sign_in(browser)
        answer = browser.post("/login/code", {"code": "000000"})
        assert "not right" in answer.content.decode()
        assert not is_in(browser)

    def test_tries_are_limited(self, factor, limit):
        limit(second_factor="2/60")
        browser = Client()
        sign_in(browser)
        for _ in range(2):
            browser.post("/login/code", {"code": "000000"})
        answer = browser.post("/login/code", {"code": code()})
        assert (answer.status_code, 0 < int(answer["Retry-After"]) <= 60) == (429, True)
        assert "Too many attempts. Try again in " in answer.content.decode()
        assert not is_in(browser)

    def test_the_password_is_good_for_ten_minutes(self, factor):
        browser = Client()
        sign_in(browser)
        session = browser.session
        session["second_factor"] = {**session["second_factor"], "at": time.time() - 601}
        session.save()
        assert browser.post("/login/code", {"code": code()})["Location"] == "/login"
        assert not is_in(browser)

    def test_a_password_that_was_changed_meanwhile_is_worth_nothing(self, factor, owner):
        browser = Client()
        sign_in(browser)
        owner.set_password(NEW)
        owner.save(update_fields=["password"])
        assert browser.post("/login/code", {"code": code()})["Location"] == "/login"

    def test_a_code_of_a_suspended_account_is_refused(self, factor, account):
        browser = Client()
        sign_in(browser, remember="on")
        type(account).objects.filter(pk=account.pk).update(is_active=False)
        assert browser.post("/login/code", {"code": code()})["Location"] == "/login"
        assert not Login.objects.exists()
        assert not TrustedDevice.objects.exists()

    def test_nobody_gets_there_without_a_password(self):
        assert Client().get("/login/code")["Location"] == "/login"
        assert Client().post("/login/code", {"code": code()})["Location"] == "/login"

    @pytest.mark.django_db(transaction=True)
    def test_one_code_lets_one_of_two_browsers_in(self, factor):
        browsers, same = [Client() for _ in range(4)], code()
        for browser in browsers:
            sign_in(browser)

        def give(browser: Client) -> int:
            try:
                return browser.post("/login/code", {"code": same}).status_code
            finally:
                connection.close()

        with ThreadPoolExecutor(4) as pool:
            assert sorted(pool.map(give, browsers)) == [200, 200, 200, 302]


class TestRememberedBrowsers:
    def remembered(self, owner) -> Client:
        """Return a browser in which the owner entered password and code, and chose to be remembered."""
        browser = Client(HTTP_USER_AGENT="Mozilla/5.0 (Tests)")
        sign_in(browser, remember="on")
        browser.post("/login/code", {"code": code()})
        return browser

    def test_skip_the_second_factor_but_not_the_password(self, factor, owner):
        browser = self.remembered(owner)
        device = TrustedDevice.objects.get()
        assert (device.user_agent, device.user) == ("Mozilla/5.0 (Tests)", owner)
        assert timedelta(days=29) < device.expiry - now() <= timedelta(days=30)
        browser.get("/logout")
        assert not is_in(browser)
        assert sign_in(browser, password="wrong").status_code == 200
        assert sign_in(browser)["Location"] == "/home"
        after = TrustedDevice.objects.get()
        assert after.last_authenticated > device.last_authenticated
        assert Login.objects.count() == 2

    def test_hold_a_secret_that_is_kept_as_a_digest(self, factor, owner):
        browser = self.remembered(owner)
        cookie = browser.cookies["skerry_device"]
        assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
        assert cookie.value not in str(TrustedDevice.objects.values().get())

    def test_are_only_those_that_asked_for_it(self, factor, owner):
        browser = Client()
        sign_in(browser)
        browser.post("/login/code", {"code": code()})
        assert not TrustedDevice.objects.exists()
        assert browser.session.get_expire_at_browser_close()

    def test_belong_to_one_user(self, factor, owner, account):
        browser = self.remembered(owner)
        other = UserFactory(account=account, username="other", password=PASSWORD, two_factor_auth=True)
        SecondFactor.objects.create(user=other, encrypted=encrypt_json({"secret": SECRET}))
        browser.get("/logout")
        assert sign_in(browser, "other")["Location"] == "/login/code"

    def test_are_logged_out_at_the_next_page_when_the_api_revokes_them(self, factor, owner, client_for):
        browser = self.remembered(owner)
        assert is_in(browser)
        assert client_for(owner).delete(f"/v4/profile/devices/{TrustedDevice.objects.get().pk}").status_code == 200
        assert not is_in(browser)
        assert sign_in(browser)["Location"] == "/login/code"

    def test_are_forgotten_after_thirty_days(self, factor, owner):
        browser = self.remembered(owner)
        TrustedDevice.objects.update(expiry=now() - timedelta(seconds=1))
        assert not is_in(browser)
        assert sign_in(browser)["Location"] == "/login/code"


class TestSessions:
    @pytest.mark.parametrize("who", ["user", "account"])
    def test_end_when_the_user_or_the_account_is_suspended(self, owner, who):
        browser = Client()
        sign_in(browser)
        suspended = owner if who == "user" else owner.account
        suspended.is_active = False
        suspended.save()
        assert not is_in(browser)

    def test_end_with_a_new_password(self, owner):
        browser = Client()
        sign_in(browser)
        owner.set_password(NEW)
        owner.save(update_fields=["password"])
        assert not is_in(browser)

    def test_signing_out_says_so(self):
        browser = Client()
        sign_in(browser)
        page = browser.get("/logout", follow=True)
        assert (page.request["PATH_INFO"], page.status_code) == ("/signed-out", 200)
        assert b"signed out" in page.content


class TestForgottenPasswords:
    def path(self) -> str:
        outbox.send_due()
        return re.findall(r"http://[^/]+(/password/\S+)", mail.outbox[-1].body)[0]

    @pytest.mark.parametrize("name", ["owner", "OWNER@example.com"])
    def test_a_mail_lets_one_choose_another(self, owner, name):
        TrustedDevice.objects.create(
            user=owner,
            digest="x",
            last_remote_addr="::1",
            last_authenticated=now(),
            expiry=now() + timedelta(days=1),
        )
        Client().post("/password/forgotten", {"name": name})
        browser = Client()
        page = browser.get(self.path(), follow=True)
        browser.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW})
        assert sign_in(Client()).status_code == 200, "the old one is wrong now"
        assert sign_in(Client(), password=NEW).status_code == 302
        assert not TrustedDevice.objects.exists()
        assert Event.objects.get().message == "A new password was set."

    def test_the_page_says_the_same_of_names_that_nobody_has(self):
        pages, costs = [], []
        for name in ("owner", "nobody", "nobody@example.com", "\u00e9" * 128):
            with CaptureQueriesContext(connection) as asked:
                pages.append(Client().post("/password/forgotten", {"name": name}).content)
            costs.append([re.sub(r"'[^']*'|\d+", "", each["sql"])[:60] for each in asked])
        assert len(set(pages)) == 1
        assert costs[1:] == costs[:1] * 3, "counted, not timed"
        outbox.send_due()
        assert [each.to for each in mail.outbox] == [["owner@example.com"]]
        assert not Message.objects.exists()

    def test_mails_are_limited_by_address(self, limit):
        limit(password_mail="1/60")
        answers = [Client().post("/password/forgotten", {"name": "owner"}).status_code for _ in range(2)]
        assert answers == [200, 429]
        assert Message.objects.count() == 1

    def test_nobodys_mailbox_is_filled_from_many_addresses(self, limit):
        limit(password_mail="1/60")
        pages = [
            Client(REMOTE_ADDR=f"198.51.100.{n}").post("/password/forgotten", {"name": "owner"}) for n in range(2)
        ]
        assert pages[0].content == pages[1].content
        assert Message.objects.count() == 1

    def test_the_suspended_get_none(self, owner):
        owner.is_active = False
        owner.save()
        Client().post("/password/forgotten", {"name": "owner"})
        outbox.send_due()
        assert (mail.outbox, Message.objects.count()) == ([], 0)


class TestProfile:
    @pytest.fixture
    def browser(self, owner) -> Client:
        browser = Client()
        sign_in(browser)
        return browser

    def test_shows_the_user_and_the_apps_with_access(self, browser, owner, web):
        SSHKey.objects.create(user=owner, ssh_key=KEY, label="laptop")
        token_of(owner, "computes:read_only", label="ci")
        web.tokens(owner)
        topics = ("", "/sign-in", "/tokens", "/ssh-keys", "/apps", "/browsers")
        text = unescape("".join(browser.get(f"/home/profile{topic}").content.decode() for topic in topics))
        for each in (
            "owner@example.com",
            "Dashboard",
            "laptop",
            "SHA256:",
            "ci",
            "See compute instances",
            "127.0.0.1",
        ):
            assert each in text

    def test_is_for_those_who_are_signed_in(self):
        assert Client().get("/home/profile")["Location"] == "/login?next=/home/profile"

    def test_a_verb_without_a_session_leads_to_a_page_that_can_be_opened(self):
        assert Client().post("/home/tokens/1/revoke")["Location"] == "/login?next=/home"

    def test_an_app_is_revoked_there(self, browser, owner, web):
        tokens = web.tokens(owner)
        pk = owner.authorizations.get().pk
        assert browser.post(f"/home/apps/{pk}/revoke")["Location"] == "/home/profile/apps"
        assert call(tokens["access_token"]).status_code == 401

    def test_a_token_is_revoked_there(self, browser, owner, client_for):
        api = client_for(owner)
        browser.post(f"/home/tokens/{owner.personal_tokens.get().pk}/revoke")
        assert api.get("/v4/profile").status_code == 401

    def test_a_browser_is_forgotten_there(self, owner):
        browser = Client()
        sign_in(browser, remember="on")
        assert b"(this browser)" in browser.get("/home/profile/browsers").content
        browser.post(f"/home/devices/{TrustedDevice.objects.get().pk}/revoke")
        assert not is_in(browser)

    def test_nothing_of_others_and_nothing_else_is(self, browser, stranger):
        token_of(stranger)
        pk = stranger.personal_tokens.get().pk
        assert browser.post(f"/home/tokens/{pk}/revoke").status_code == 404
        assert browser.post("/home/users/1/revoke").status_code == 404
        assert browser.get(f"/home/tokens/{pk}/revoke").status_code == 405
        assert stranger.personal_tokens.exists()

    def test_its_forms_are_its_own(self, owner):
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(owner, backend="accounts.pages.sessions.Backend")
        token_of(owner)
        assert browser.post(f"/home/tokens/{owner.personal_tokens.get().pk}/revoke").status_code == 403


class TestStaff:
    def test_come_in_by_the_same_door(self, staff):
        browser = Client()
        sent = browser.get("/admin/", follow=True)
        assert sent.request["PATH_INFO"] == "/login"
        assert sign_in(browser, "staff", next="/admin/")["Location"] == "/admin/"
        assert browser.get("/admin/").status_code == 200
        assert Login.objects.get().username == "staff"

    def test_with_the_same_second_factor(self, staff):
        SecondFactor.objects.create(user=staff, encrypted=encrypt_json({"secret": SECRET}))
        User.objects.filter(pk=staff.pk).update(two_factor_auth=True)
        browser = Client()
        assert sign_in(browser, "staff", next="/admin/")["Location"] == "/login/code"
        assert browser.get("/admin/").status_code == 302
        assert browser.post("/login/code", {"code": code(ahead=1)})["Location"] == "/admin/"

    def test_and_change_a_password_by_the_same_page(self, staff):
        browser = Client()
        sign_in(browser, "staff", next="/admin/")
        given = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
        assert browser.post("/admin/password_change/", given)["Location"] == "/home/password"
        assert browser.get("/home/password").status_code == 200
        staff.refresh_from_db()
        assert staff.check_password(PASSWORD)

    def test_and_forget_their_browsers_in_the_profile(self, staff):
        browser = Client()
        sign_in(browser, "staff", remember="on")
        assert browser.post(f"/home/devices/{TrustedDevice.objects.get().pk}/revoke").status_code == 302
        assert not is_in(browser)

    def test_and_nobody_else(self):
        browser = Client()
        sign_in(browser)
        sent = browser.get("/admin/", follow=True)
        assert sent.request["PATH_INFO"] == "/login"
        assert b"You are signed in as <strong>owner</strong>. This user is not staff." in sent.content


@pytest.mark.parametrize(
    "path",
    [
        "/login",
        "/password/forgotten",
        "/signed-out",
        "/home/profile",
        "/home/password",
        "/home/confirm",
        "/login/code",
    ],
)
def test_every_page_is_kept_by_no_cache_and_has_nothing_inline(path, factor):
    browser = Client()
    if path == "/login/code":
        sign_in(browser)
    elif path != "/login":
        browser.force_login(UserFactory(username="somebody"))
    page = browser.get(path)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert page["Content-Security-Policy"].startswith("default-src 'none'")
    assert not has_inline(page.content)


@pytest.mark.parametrize(
    ("query", "target"),
    [("", "/home"), ("?next=/home/usage%3Fa=b", "/home/usage?a=b"), ("?next=https://evil.example/", "/home")],
)
def test_a_signed_in_user_continues_without_the_form(query, target):
    browser = Client()
    sign_in(browser)
    assert browser.get(f"/login{query}")["Location"] == target


def test_the_address_alone_leads_to_the_home_page():
    came = Client().get("/", follow=True)
    assert came.redirect_chain == [("/home", 302), ("/login?next=/home", 302)]
    assert came.status_code == 200


@pytest.mark.parametrize("headers", [{"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_ORIGIN": "null"}])
def test_a_form_from_another_origin_gets_the_names_of_the_variables(db, headers, settings, caplog):
    settings.CSRF_TRUSTED_ORIGINS = ["https://cloud.example.com"]
    caplog.set_level(logging.WARNING, "accounts.oauth.views")
    answer = Client(enforce_csrf_checks=True).post("/login", {"username": "owner", "password": "x"}, **headers)
    assert answer.status_code == 403
    page = answer.content.decode()
    assert all(name in page for name in ("SITE_URL", "NUM_PROXIES", "CSRF_TRUSTED_ORIGINS"))
    assert headers["HTTP_ORIGIN"] not in page
    assert "cloud.example.com" not in page
    [line] = [record.getMessage() for record in caplog.records if record.name == "accounts.oauth.views"]
    assert line.startswith(
        f"a form from {headers['HTTP_ORIGIN']!r} was refused: expected http://testserver or https://cloud.example.com."
    )


def test_a_form_by_https_without_referrer_gets_the_same_page(db):
    answer = Client(enforce_csrf_checks=True).post("/login", {"username": "owner"}, secure=True)
    assert "SITE_URL" in answer.content.decode()


def test_the_log_has_only_the_origin_of_a_refused_form(db, caplog):
    caplog.set_level(logging.WARNING, "accounts.oauth.views")
    page = "https://cloud.example.com/password/MQ/s3cret?next=/s3cret"
    Client(enforce_csrf_checks=True).post("/login", {"username": "owner"}, secure=True, headers={"Referer": page})
    [line] = [record.getMessage() for record in caplog.records if record.name == "accounts.oauth.views"]
    assert line.startswith("a form from 'https://cloud.example.com' was refused: ")
    assert "s3cret" not in line


def test_a_form_that_lost_its_cookie_is_still_only_out_of_date(db):
    answer = Client(enforce_csrf_checks=True).post("/login", {"username": "owner"})
    assert "open for too long" in answer.content.decode()
    assert "SITE_URL" not in answer.content.decode()
