"""Users add security keys in the profile and sign in with them."""

import json
import re
from html import unescape

import pytest
from django.test import Client

from accounts.models import Event, SecurityKey, User
from accounts.services import second_factor, security_keys
from tests.accounts.authenticator import Authenticator
from tests.accounts.pages.browsers import sign_in
from tests.accounts.signing_in import code, is_in, mailed, words

pytestmark = pytest.mark.django_db
ORIGIN = "https://cloud.example.com"
NEW = "/home/security-keys/new"


@pytest.fixture(autouse=True)
def site(settings) -> None:
    settings.SITE_URL = ORIGIN


@pytest.fixture
def with_factor(browser, answered) -> Client:
    """Return a browser in which the owner has enabled the second factor."""
    browser.post("/home/second-factor/begin")
    browser.post("/home/second-factor", {"code": code()})
    return browser


@pytest.fixture
def key() -> Authenticator:
    return Authenticator(ORIGIN)


def options(page) -> str:
    """Return the options that the page's script passes to the key."""
    return unescape(re.findall(r'data-options="([^"]*)"', page.content.decode())[0])


def add(browser: Client, key: Authenticator, name: str = "on my ring"):
    return browser.post(NEW, {"name": name, "answer": key.create(options(browser.get(NEW)))}, follow=True)


def by_key(browser: Client, key: Authenticator):
    return browser.post("/login/code", {"answer": key.get(options(browser.get("/login/code")))})


class TestAdding:
    def test_a_key_is_listed_in_the_profile_and_has_an_event(self, with_factor, key, owner):
        assert "The security key on my ring was added." in words(add(with_factor, key))
        assert "on my ring" in words(with_factor.get("/home/profile/sign-in"))
        kept = SecurityKey.objects.get()
        assert (kept.user, bytes(kept.credential), kept.sign_count) == (owner, key.credential, 0)
        assert Event.objects.latest("pk").message == "The security key on my ring was added."
        assert mailed()[-1] == (owner.email, "A security key was added")

    def test_the_same_key_is_added_once(self, with_factor, key):
        add(with_factor, key)
        known = json.loads(options(with_factor.get(NEW)))["excludeCredentials"]
        assert len(known) == 1
        assert security_keys.KNOWN in words(add(with_factor, key))
        assert SecurityKey.objects.count() == 1

    def test_not_more_than_some(self, with_factor, key, monkeypatch):
        monkeypatch.setattr(security_keys, "MAX_KEYS", 0)
        assert security_keys.TOO_MANY in words(add(with_factor, key))
        assert not SecurityKey.objects.exists()

    @pytest.mark.parametrize("answer", ["", "{}", "nonsense", '{"id": 1}', "[" * 5000, "x" * 16385, "1", "null"])
    def test_an_invalid_answer_is_refused(self, with_factor, answer):
        with_factor.get(NEW)
        page = with_factor.post(NEW, {"name": "x", "answer": answer})
        assert page.status_code == 200
        assert 'role="alert"' in page.content.decode().split("data-security-key")[0]
        assert not SecurityKey.objects.exists()

    def test_an_answer_counts_once_and_for_its_own_question(self, with_factor, key):
        answer = key.create(options(with_factor.get(NEW)))
        with_factor.get(NEW)
        assert security_keys.WRONG in words(with_factor.post(NEW, {"name": "x", "answer": answer}))
        assert not SecurityKey.objects.exists()

    def test_a_key_that_answered_another_site_is_refused(self, with_factor):
        assert security_keys.WRONG in words(
            add(with_factor, Authenticator("https://cloud.example.com.evil.example"))
        )

    def test_the_second_factor_comes_first(self, browser):
        assert browser.get(NEW)["Location"] == "/home/second-factor"
        assert "Security keys" not in words(browser.get("/home/profile/sign-in"))

    def test_needs_a_recent_confirmation(self, with_factor):
        session = with_factor.session
        session["confirmed"] = 0
        session.save()
        assert with_factor.get(NEW)["Location"] == "/home/confirm?next=%2Fhome%2Fsecurity-keys%2Fnew"
        assert Client().get(NEW)["Location"].startswith("/login")

    def test_a_bare_address_has_no_keys_but_localhost_has(self, with_factor, settings):
        settings.SITE_URL = "http://127.0.0.1:8000"
        assert with_factor.get(NEW).status_code == 404
        there = with_factor.get(NEW, headers={"Host": "localhost:8000"})
        assert json.loads(options(there))["rp"]["id"] == "localhost"

    def test_removed_it_lets_nobody_in(self, with_factor, key):
        add(with_factor, key)
        with_factor.post(f"/home/security-keys/{SecurityKey.objects.get().pk}/revoke")
        assert not SecurityKey.objects.exists()
        assert Event.objects.latest("pk").message == "The security key on my ring was removed."
        assert "security key" not in words(sign_in("owner").get("/login/code"))

    def test_it_goes_with_the_second_factor(self, with_factor, key):
        add(with_factor, key)
        with_factor.post("/home/second-factor/off")
        assert not SecurityKey.objects.exists()

    def test_a_key_of_another_user_cannot_be_removed(self, with_factor, key, stranger):
        add(with_factor, key)
        other = sign_in(stranger.username, stranger)
        assert other.post(f"/home/security-keys/{SecurityKey.objects.get().pk}/revoke").status_code == 404


class TestSigningIn:
    @pytest.fixture(autouse=True)
    def added(self, with_factor, key) -> None:
        add(with_factor, key)

    @pytest.mark.parametrize("counts", [True, False])
    def test_a_key_takes_the_place_of_a_code(self, key, counts):
        key.count = 0 if counts else None
        for _ in range(2):
            browser = sign_in("owner")
            assert not is_in(browser)
            assert by_key(browser, key)["Location"] == "/home"
            assert is_in(browser)
        assert SecurityKey.objects.get().last_used is not None

    def test_codes_go_on(self):
        assert sign_in("owner").post("/login/code", {"code": code(ahead=1)})["Location"] == "/home"

    def test_no_answer_twice_nor_after_ten_minutes(self, key, monkeypatch):
        browser = sign_in("owner")
        answer = key.get(options(browser.get("/login/code")))
        assert browser.post("/login/code", {"answer": answer}).status_code == 302
        again = sign_in("owner")
        again.get("/login/code")
        assert security_keys.WRONG in words(again.post("/login/code", {"answer": answer}))
        asked = options(again.get("/login/code"))
        monkeypatch.setattr("accounts.pages.security_keys.ANSWER_TIMEOUT", -1)
        assert security_keys.WRONG in words(again.post("/login/code", {"answer": key.get(asked)}))
        assert not is_in(again)

    def test_a_copy_of_a_key_that_counts_is_refused(self, key):
        by_key(sign_in("owner"), key)
        key.count = 0
        browser = sign_in("owner")
        assert security_keys.WRONG in words(by_key(browser, key))
        assert not is_in(browser)

    @pytest.mark.parametrize("answer", ["{}", "nonsense", '{"id": "AA", "rawId": "AA"}', "x" * 16385, "[" * 5000])
    def test_an_invalid_answer_is_refused(self, answer):
        browser = sign_in("owner")
        browser.get("/login/code")
        page = browser.post("/login/code", {"answer": answer})
        assert page.status_code == 200
        assert 'class="errorlist' in page.content.decode()
        assert not is_in(browser)

    def test_another_persons_key_is_refused(self, key, stranger):
        User.objects.filter(pk=stranger.pk).update(two_factor_auth=True)
        SecurityKey.objects.create(user=stranger, name="x", credential=b"x", public_key=b"x")
        browser = sign_in(stranger.username, stranger)
        assert security_keys.WRONG in words(by_key(browser, key))
        assert not is_in(browser)

    def test_tries_are_counted_with_those_of_codes(self, key, limit):
        limit(second_factor="1/600")
        browser = sign_in("owner")
        browser.post("/login/code", {"code": "000000"})
        assert by_key(browser, key).status_code == 429

    def test_it_opens_the_admin_to_staff(self, key, owner, settings):
        settings.STAFF_SECOND_FACTOR = True
        User.objects.filter(pk=owner.pk).update(is_staff=True)
        browser = sign_in("owner")
        by_key(browser, key)
        assert browser.get("/admin/compute/").status_code != 302

    def test_the_page_has_a_script_for_those_with_a_key_alone(self, stranger):
        page = sign_in("owner").get("/login/code")
        assert b"security-key.js" in page.content
        SecurityKey.objects.all().delete()
        page = sign_in("owner").get("/login/code")
        assert b"security-key.js" not in page.content

    def test_nothing_is_no_answer(self):
        page = sign_in("owner").post("/login/code", {"answer": "", "code": ""})
        assert "This field is required." in words(page)


def test_none_is_accepted_while_the_second_factor_is_off(owner, key):
    site = security_keys.Site("cloud.example.com", ORIGIN)
    User.objects.filter(pk=owner.pk).update(two_factor_auth=False)
    question = security_keys.ask_to_register(owner, site)
    actor = second_factor.Actor(owner.account_id, owner.pk, owner.username)
    with pytest.raises(security_keys.Invalid, match="Turn on the second factor first"):
        security_keys.add(actor, site, question.challenge, key.create(question.options), "x")
