"""Every page, as somebody sees it who has little: no mouse, a small screen, weak eyes."""

from collections.abc import Callable

import pyotp
import pytest
from selenium.webdriver.common.by import By

from accounts.actors import Actor
from accounts.models import Authorization, Event, OAuthClient, SecurityAnswer, SSHKey, TrustedDevice, User
from accounts.services import token_links
from accounts.services.users import password_path
from tests.browser.looks import check
from tests.browser.second_factors import give_second_factor
from tests.browser.site import AppSite, consent
from tests.browser.visitor import Visitor
from tests.factories import (
    PICTURE,
    EventFactory,
    InstanceFactory,
    OAuthClientFactory,
    TrustedDeviceFactory,
    token_of,
)

pytestmark = pytest.mark.browser

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
LONG = "Averyveryveryveryveryveryveryverylongnamewithoutanyblank"


@pytest.fixture
def client(app_site: AppSite) -> OAuthClient:
    return OAuthClientFactory(name=f"Dashboard {LONG}", redirect_uris=app_site.redirect_uri, thumbnail=PICTURE)


def _sign_in(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")


def _wrong_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.sign_in(password="wrong")


def _second_factor(visitor: Visitor, user: User, client: OAuthClient) -> None:
    give_second_factor(user)
    visitor.visit("/login")
    visitor.sign_in()
    visitor.type("Code", "wrong")
    visitor.press("Continue")


def _forgotten(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/password/forgotten")


def _mail_sent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/password/forgotten")
    visitor.type("Username or email", "nobody")
    visitor.press("Send email")


def _choosing_a_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(password_path(user))
    visitor.type("New password", "short")
    visitor.type("Repeat the new password", "other")
    visitor.press("Set password")


def _used_address(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/password/MQ/used-already")


def _profile(visitor: Visitor, user: User, client: OAuthClient) -> None:
    Authorization.objects.create(user=user, client=client, scopes="computes:read_only account:read_write " * 4)
    token_of(user, "computes:read_only events:read_only", label=LONG)
    TrustedDeviceFactory(user=user, user_agent=f"Mozilla/5.0 {LONG}")
    SSHKey.objects.create(user=user, ssh_key=KEY, label=LONG)
    visitor.visit("/login?next=/home/profile")
    visitor.sign_in(remember=True)
    assert TrustedDevice.objects.count() == 2
    visitor.open(f"Revoke {LONG}")


def _new_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Create token")
    visitor.type("Label", LONG)
    visitor.choose("Expires", "on a date that I choose")
    visitor.press("Create token")
    assert visitor.problem == "At least one scope is required Choose a date."


def _made_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Create token")
    visitor.type("Label", LONG)
    visitor.tick("See, create, change and delete deployment scripts")
    visitor.press("Create token")
    assert visitor.heading == "Your new token"


def _new_ssh_key(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Add SSH key")
    visitor.type("Public key", "none")
    visitor.press("Add key")


def _security_questions(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Answer three questions")
    for number in (1, 2, 3):
        visitor.type(f"Answer {number}", "***")
    visitor.press("Save answers")


def _second_factor_off(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Turn on the second factor")


def _second_factor_of_staff(visitor: Visitor, user: User, client: OAuthClient) -> None:
    OAuthClient.objects.all().delete()
    User.objects.filter(pk=user.pk).update(account=None, is_staff=True)
    visitor.visit("/admin/")
    visitor.sign_in()
    assert "The admin needs a second factor." in visitor.text
    visitor.press("Show the picture")
    visitor.type("Code from the app", pyotp.TOTP(visitor.words_of("secret")).now())
    visitor.press("Turn on")
    visitor.follow("I have stored it: go to the admin")
    assert visitor.path == "/admin/"
    visitor.visit("/home/second-factor")
    visitor.open("Turn off the second factor")
    visitor.press("Yes, turn off")
    visitor.visit("/admin/")


def _setting_up_the_second_factor(visitor: Visitor, user: User, client: OAuthClient) -> None:
    SecurityAnswer.objects.bulk_create(SecurityAnswer(user=user, question_id=number) for number in (1, 2, 3))
    _second_factor_off(visitor, user, client)
    visitor.press("Show the picture")
    visitor.type("Code from the app", "wrong")
    visitor.press("Turn on")


def _scratch_code(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _setting_up_the_second_factor(visitor, user, client)
    visitor.type("Code from the app", pyotp.TOTP(visitor.words_of("secret")).now())
    visitor.press("Turn on")


def _second_factor_on(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _scratch_code(visitor, user, client)
    visitor.follow("I have stored it: back to the profile")
    visitor.follow("Change the second factor")
    visitor.open("Turn off the second factor")


def _changing_the_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Change password")
    visitor.type("Current password", "wrong")
    visitor.type("New password", "short")
    visitor.type("Repeat the new password", "short")
    visitor.press("Change password")


def _confirming(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.visit("/home/confirm?next=/home/tokens/new")
    visitor.type("Password", "wrong")
    visitor.press("Continue")


def _empty_profile(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login?next=/home/profile")
    visitor.sign_in()


def _changing_the_profile(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Change profile")
    visitor.type("Email", "nowhere")
    visitor.press("Save")
    assert visitor.problem


def _empty_home(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.sign_in()
    assert "You have no instances yet" in visitor.text


def _menu(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.driver.find_element(By.CSS_SELECTOR, ".user-menu > summary").click()


def _home(visitor: Visitor, user: User, client: OAuthClient) -> None:
    failed = EventFactory(account=user.account, status=Event.Status.FAILED, message="The host is full.")
    InstanceFactory(account=user.account, label=LONG)
    visitor.visit("/login")
    visitor.sign_in()
    assert failed.message in visitor.text


def _search(visitor: Visitor, user: User, client: OAuthClient) -> None:
    InstanceFactory(account=user.account, label=LONG)
    visitor.visit(f"/login?next=/home/search?q={LONG}")
    visitor.sign_in()
    assert visitor.heading == "Search"


def _noun(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login?next=/home/account")
    visitor.sign_in()
    assert visitor.heading == "Account"


def _instance(visitor: Visitor, user: User, client: OAuthClient) -> None:
    instance = InstanceFactory(account=user.account, label=LONG)
    visitor.visit(f"/login?next=/home/instances/{instance.pk}")
    visitor.sign_in()
    assert visitor.heading == LONG


def _signed_out(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/logout")


def _consent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(consent(client, "computes:read_only account:read_write domains:read_write"))
    visitor.sign_in()


def _refused_consent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(consent(client, redirect_uri="https://evil.example/"))
    visitor.sign_in()
    assert visitor.heading == "The app cannot have access"


def _open_for_too_long(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.driver.delete_all_cookies()
    visitor.sign_in()
    assert visitor.heading == "This page was open for too long"


def _not_found(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(f"/{LONG}/{LONG}")
    assert visitor.heading == "This page does not exist"


def _link_to_a_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    actor = Actor(user.account_id or 0, username="staff", is_staff=True)
    _, address = token_links.make_link(actor, user, LONG, "computes:read_only account:read_write")
    visitor.visit("/" + address.split("/", 3)[3])


def _token_of_a_link(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _link_to_a_token(visitor, user, client)
    visitor.press("Show the token")


def _used_link(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/token/used-already")


PAGES: list[Callable] = [
    _link_to_a_token, _token_of_a_link, _used_link,
    _sign_in, _wrong_password, _second_factor, _forgotten, _mail_sent, _choosing_a_password, _used_address,
    _empty_home, _menu, _home, _search, _noun, _instance, _profile, _empty_profile, _changing_the_profile,
    _new_token, _made_token, _new_ssh_key, _security_questions, _second_factor_off,
    _second_factor_of_staff, _setting_up_the_second_factor, _scratch_code, _second_factor_on,
    _changing_the_password, _confirming, _signed_out, _consent, _refused_consent, _open_for_too_long, _not_found,
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.__name__.strip("_"))
def test_a_page_can_be_read_and_used(visitor, owner, client, page):
    page(visitor, owner, client)
    check(visitor)


class TestTheChecks:
    """A check that finds nothing wrong anywhere would prove nothing."""

    def spoil(self, visitor: Visitor, css: str) -> None:
        sheet = "document.adoptedStyleSheets = [new CSSStyleSheet()]; document.adoptedStyleSheets[0]"
        visitor.driver.execute_script(f"{sheet}.replaceSync(arguments[0])", css)

    @pytest.mark.parametrize(
        ("css", "found"),
        [
            ("h1 { color: #999 }", "too faint"),
            ("@media (prefers-color-scheme: dark) { label { color: #555 } }", "dark"),
            ("input { border-color: #eee !important }", "the border of"),
            ("main { width: 400px }", "wider than a phone"),
            ("button:focus-visible { outline: none !important }", "focus cannot be seen"),
            ("label { display: none !important }", "fields without a label"),
        ],
    )
    def test_find_what_is_wrong(self, visitor, css, found):
        visitor.visit("/login")
        self.spoil(visitor, css)
        with pytest.raises(AssertionError, match=found):
            check(visitor)

    def test_are_those_of_axe_too(self, visitor):
        visitor.visit("/login")
        visitor.driver.execute_script("document.querySelector('header img').removeAttribute('alt')")
        with pytest.raises(AssertionError, match=r"axe found.*image-alt"):
            check(visitor)
