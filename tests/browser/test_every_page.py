"""Every page, as somebody sees it who has little: no mouse, a small screen, weak eyes."""

from collections.abc import Callable

import pyotp
import pytest

from accounts.actors import Actor
from accounts.models import Authorization, OAuthClient, SecurityAnswer, SSHKey, TrustedDevice, User
from accounts.services import token_links
from accounts.services.users import password_path
from tests.browser.looks import check
from tests.browser.second_factors import give_second_factor
from tests.browser.site import AppSite, consent
from tests.browser.visitor import Visitor
from tests.factories import PICTURE, OAuthClientFactory, TrustedDeviceFactory, token_of

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
    visitor.press("Go on")


def _forgotten(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/password/forgotten")


def _mail_sent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/password/forgotten")
    visitor.type("Username or email", "nobody")
    visitor.press("Send a mail")


def _choosing_a_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(password_path(user))
    visitor.type("New password", "short")
    visitor.type("The same once more", "other")
    visitor.press("Set password")


def _used_address(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/password/MQ/used-already")


def _home(visitor: Visitor, user: User, client: OAuthClient) -> None:
    Authorization.objects.create(user=user, client=client, scopes="computes:read_only account:read_write " * 4)
    token_of(user, "computes:read_only events:read_only", label=LONG)
    TrustedDeviceFactory(user=user, user_agent=f"Mozilla/5.0 {LONG}")
    SSHKey.objects.create(user=user, ssh_key=KEY, label=LONG)
    visitor.visit("/login")
    visitor.sign_in(remember=True)
    assert TrustedDevice.objects.count() == 2
    visitor.open(f"Revoke {LONG}")


def _new_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.follow("Make a token")
    visitor.type("Label", LONG)
    visitor.choose("It expires", "at the end of a day that I choose")
    visitor.press("Make the token")
    assert visitor.problem == "At least one scope is required Choose a day."


def _made_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.follow("Make a token")
    visitor.type("Label", LONG)
    visitor.tick("See, create, change and delete deployment scripts")
    visitor.press("Make the token")
    assert visitor.heading == "Your new token"


def _new_ssh_key(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.follow("Add a key")
    visitor.type("Public key", "none")
    visitor.press("Add the key")


def _security_questions(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.follow("Answer three questions")
    for number in (1, 2, 3):
        visitor.type(f"Answer {number}", "***")
    visitor.press("Save the answers")


def _second_factor_off(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.follow("Turn the second factor on")


def _second_factor_of_staff(visitor: Visitor, user: User, client: OAuthClient) -> None:
    OAuthClient.objects.all().delete()
    User.objects.filter(pk=user.pk).update(account=None, is_staff=True)
    visitor.visit("/admin/")
    visitor.sign_in()
    assert "The admin opens to you once" in visitor.text
    visitor.press("Show the picture")
    visitor.type("Code that the app shows", pyotp.TOTP(visitor.words_of("secret")).now())
    visitor.press("Turn it on")
    visitor.follow("I have kept it: on to the admin")
    assert visitor.path == "/admin/"
    visitor.visit("/home/second-factor")
    visitor.open("Turn the second factor off")
    visitor.press("Yes, turn it off")
    visitor.visit("/admin/")


def _setting_up_the_second_factor(visitor: Visitor, user: User, client: OAuthClient) -> None:
    SecurityAnswer.objects.bulk_create(SecurityAnswer(user=user, question_id=number) for number in (1, 2, 3))
    _second_factor_off(visitor, user, client)
    visitor.press("Show the picture")
    visitor.type("Code that the app shows", "wrong")
    visitor.press("Turn it on")


def _scratch_code(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _setting_up_the_second_factor(visitor, user, client)
    visitor.type("Code that the app shows", pyotp.TOTP(visitor.words_of("secret")).now())
    visitor.press("Turn it on")


def _second_factor_on(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _scratch_code(visitor, user, client)
    visitor.follow("I have kept it: back home")
    visitor.follow("Change the second factor")
    visitor.open("Turn the second factor off")


def _changing_the_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.follow("Change the password")
    visitor.type("Password that you have now", "wrong")
    visitor.type("New password", "short")
    visitor.type("The same once more", "short")
    visitor.press("Change it")


def _confirming(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.visit("/home/confirm?next=/home/tokens/new")
    visitor.type("Password", "wrong")
    visitor.press("Go on")


def _empty_home(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.sign_in()


def _signed_out(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/logout")


def _consent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(consent(client, "computes:read_only account:read_write domains:read_write"))
    visitor.sign_in()


def _refused_consent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(consent(client, redirect_uri="https://evil.example/"))
    visitor.sign_in()
    assert visitor.heading == "This is not possible"


def _open_for_too_long(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.driver.delete_all_cookies()
    visitor.sign_in()
    assert visitor.heading == "This page was open for too long"


def _not_found(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(f"/{LONG}/{LONG}")
    assert visitor.heading == "There is no such page"


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
    _home, _empty_home, _new_token, _made_token, _new_ssh_key, _security_questions, _second_factor_off,
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
