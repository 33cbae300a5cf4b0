"""The admin and the second factor of staff."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import SecondFactor, User
from accounts.services import second_factor
from tests.accounts.pages.browsers import BACKEND, sign_in
from tests.accounts.providers import sign_in_there
from tests.accounts.signing_in import PASSWORD, SECRET, code, come_in, is_in, tie, words
from tests.oidc_provider import subject_of

pytestmark = pytest.mark.django_db
PAGE = "/home/second-factor"
ADMIN = "/admin/"


@pytest.fixture(autouse=True)
def wanted(settings) -> None:
    settings.STAFF_SECOND_FACTOR = True


def paths_below(resolver: URLResolver, prefix: str) -> list[str]:
    """Return an address for each pattern below `resolver`, with 1 for each parameter."""
    found = []
    for pattern in resolver.url_patterns:
        route = prefix + re.sub(r"<[^>]+>|\(\?P.*", "1", str(pattern.pattern))
        found += [route] if isinstance(pattern, URLPattern) else paths_below(pattern, route)
    return found


def of_admin() -> list[str]:
    [site] = [each for each in get_resolver().url_patterns if getattr(each, "namespace", "") == "admin"]
    return paths_below(site, "/admin/")


def set_up(browser: Client):
    """Set the second factor up in a browser, as staff without answered questions. Returns the last page."""
    assert browser.post(f"{PAGE}/begin")["Location"] == PAGE
    assert SECRET in browser.get(PAGE).content.decode()
    return browser.post(PAGE, {"code": code()})


def where(browser: Client, path: str = ADMIN) -> str:
    """Return the address that the admin redirects the browser to, or the page's own address if it opens."""
    answer = browser.get(path)
    return answer["Location"] if answer.status_code == 302 else path


def test_without_one_every_page_of_the_admin_leads_to_the_page_that_sets_it_up(staff_browser):
    paths = of_admin()
    assert len(paths) > 300
    assert {"/admin/compute/instance/1/change/", "/admin/autocomplete/", "/admin/1"} <= set(paths)
    closed = {path for path in paths if where(staff_browser, path) == PAGE}
    assert set(paths) - closed == {"/admin/login/", "/admin/logout/"}


def test_nothing_is_sent_past_it(staff_browser):
    assert staff_browser.post("/admin/accounts/user/1/do/suspend/", {"confirmed": "yes"})["Location"] == PAGE


def test_the_page_says_so_and_leads_on_to_the_admin(staff_browser):
    page = words(staff_browser.get(ADMIN, follow=True))
    assert "The admin needs a second factor. Set it up here first." in page
    assert "questions" not in page
    before = staff_browser.session.session_key
    assert 'href="/admin/">I have stored it' in set_up(staff_browser).content.decode()
    assert where(staff_browser) == ADMIN
    thief = Client()
    thief.cookies["sessionid"] = before
    assert not is_in(thief), "a copy of the session from before is worth nothing"


def test_a_session_from_before_has_to_sign_in_with_it(staff_browser):
    other = sign_in("staff")
    set_up(staff_browser)
    answer = other.get("/admin/compute/instance/?q=web", follow=True)
    assert answer.redirect_chain == [("/login?next=%2Fadmin%2Fcompute%2Finstance%2F%3Fq%3Dweb", 302)]
    assert "Sign in again. The admin needs a second factor" in words(answer)
    assert other.post("/admin/compute/instance/")["Location"] == "/login?next=%2Fadmin%2F"
    entered = other.post("/login", {"username": "staff", "password": PASSWORD, "next": ADMIN})
    assert (entered["Location"], where(other)) == ("/login/code", "/admin/login/?next=/admin/")
    assert other.post("/login/code", {"code": code(ahead=1)})["Location"] == ADMIN
    assert where(other) == ADMIN


def test_another_secret_closes_the_sessions_of_the_one_before(staff, staff_browser, monkeypatch):
    set_up(staff_browser)
    other = sign_in("staff")
    other.post("/login/code", {"code": code(ahead=1)})
    assert where(other) == ADMIN
    monkeypatch.setattr("pyotp.random_base32", lambda: SECRET[::-1])
    secret, _ = second_factor.begin(second_factor.Actor(0, staff.pk, "staff"))
    staff_browser.post(PAGE, {"code": second_factor.pyotp.TOTP(secret).at(1_800_000_000)})
    assert (where(staff_browser), where(other)) == (ADMIN, "/login?next=%2Fadmin%2F")


def test_turned_off_it_is_asked_for_again(staff, staff_browser):
    set_up(staff_browser)
    staff_browser.post(f"{PAGE}/off")
    assert where(staff_browser) == PAGE
    assert not SecondFactor.objects.exists()


def test_a_remembered_browser_gave_a_code_once(staff_browser):
    set_up(staff_browser)
    browser = sign_in("staff", remember="on")
    browser.post("/login/code", {"code": code(ahead=1)})
    browser.get("/logout")
    assert browser.post("/login", {"username": "staff", "password": PASSWORD})["Location"] == "/home"
    assert where(browser) == ADMIN


def test_the_provider_has_one(staff, provider):
    tie(staff, provider, subject_of("kari"))
    browser = Client()
    come_in(browser, sign_in_there)
    assert where(browser) == ADMIN


def test_a_session_that_the_provider_did_not_open_has_to_pass_it(staff, provider):
    tie(staff, provider, subject_of("kari"))
    browser = Client()
    browser.force_login(staff, BACKEND)
    assert where(browser) == "/login?next=%2Fadmin%2F"
    User.objects.filter(pk=staff.pk).update(authentication_type=User.PASSWORD)
    come_in(browser, sign_in_there)
    assert where(browser) == PAGE, "no provider of theirs any more"


def test_customers_and_strangers_are_none_of_its_business(browser):
    assert where(browser) == where(Client()) == "/admin/login/?next=/admin/"


def test_a_laptop_asks_for_none(settings, staff_browser):
    settings.STAFF_SECOND_FACTOR = False
    assert where(staff_browser) == ADMIN
