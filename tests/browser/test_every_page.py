"""Every page, for users without a mouse, with a small screen or with weak eyes."""

from collections.abc import Callable

import pyotp
import pytest
from selenium.webdriver.common.by import By

from accounts.actors import Actor
from accounts.models import Authorization, OAuthClient, SecurityAnswer, SSHKey, TicketReply, User
from accounts.services import external, token_links
from accounts.services.users import password_path
from tests.browser.looks import check
from tests.browser.second_factors import give_second_factor
from tests.browser.site import AppSite, consent
from tests.browser.visitor import Visitor
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import confirmed
from tests.factories import (
    PICTURE,
    EventFactory,
    OAuthClientFactory,
    TicketFactory,
    TrustedDeviceFactory,
    token_of,
)
from tests.page_world import KEY, PROVIDER, SHOWN, PageWorld

pytestmark = pytest.mark.browser

LONG_WORD = "Averyveryveryveryveryveryveryverylongnamewithoutanyblank"


@pytest.fixture
def client(app_site: AppSite) -> OAuthClient:
    return OAuthClientFactory(name=f"Dashboard {LONG_WORD}", redirect_uris=app_site.redirect_uri, thumbnail=PICTURE)


def _wrong_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.sign_in(password="wrong")


def _second_factor(visitor: Visitor, user: User, client: OAuthClient) -> None:
    give_second_factor(user)
    visitor.visit("/login")
    visitor.sign_in()
    visitor.type("Code", "wrong")
    visitor.press("Continue")


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
    token_of(user, "computes:read_only events:read_only", label=LONG_WORD)
    TrustedDeviceFactory(user=user, user_agent=f"Mozilla/5.0 {LONG_WORD}")
    SSHKey.objects.create(user=user, ssh_key=KEY, label=LONG_WORD)
    _empty_profile(visitor, user, client)
    for topic in ("SSH keys", "Apps with access", "Browsers and logins", "Tokens"):
        visitor.follow(topic)
        check(visitor)
    visitor.open(f"Revoke {LONG_WORD}")


def _new_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.visit("/home/tokens/new")
    visitor.type("Label", LONG_WORD)
    visitor.tick("Single permissions")
    visitor.choose("Expires", "on a date that I choose")
    visitor.press("Create token")
    assert visitor.problem == "Choose a date. At least one scope is required"


def _made_token(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.visit("/home/tokens/new")
    visitor.type("Label", LONG_WORD)
    visitor.tick("Single permissions")
    visitor.tick("See, create, change and delete deployment scripts")
    visitor.press("Create token")
    assert visitor.heading == "Your new token"


def _second_factor_of_staff(visitor: Visitor, user: User, client: OAuthClient) -> None:
    OAuthClient.objects.all().delete()
    User.objects.filter(pk=user.pk).update(account=None, is_staff=True)
    visitor.visit("/admin/")
    visitor.sign_in()
    assert "The admin needs a second factor." in visitor.text
    visitor.press("Show the QR code")
    visitor.type("Code from the app", pyotp.TOTP(visitor.words_of("secret")).now())
    visitor.press("Turn on")
    visitor.follow("I have stored it: go to the admin")
    assert visitor.path == "/admin/"
    visitor.visit("/home/second-factor")
    visitor.open("Turn off the second factor")
    visitor.press("Yes, turn off")
    visitor.visit("/admin/")


def _turning_the_second_factor_on(visitor: Visitor, user: User, client: OAuthClient) -> None:
    SecurityAnswer.objects.bulk_create(SecurityAnswer(user=user, question_id=number) for number in (1, 2, 3))
    _empty_profile(visitor, user, client)
    visitor.follow("Sign-in")
    visitor.follow("Turn on the second factor")
    check(visitor)
    visitor.press("Show the QR code")
    visitor.type("Code from the app", "wrong")
    visitor.press("Turn on")
    check(visitor)
    visitor.type("Code from the app", pyotp.TOTP(visitor.words_of("secret")).now())
    visitor.press("Turn on")
    assert visitor.heading == "The second factor is on"


def _turning_the_second_factor_off(visitor: Visitor, user: User, client: OAuthClient) -> None:
    give_second_factor(user)
    visitor.come_in(confirmed(signed_in(user)), "/home/second-factor")
    visitor.open("Turn off the second factor")


def _provider_instead_of_a_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    external.tie(user, PROVIDER.issuer, "7", label=LONG_WORD, provider=PROVIDER.name, authentication_type="github")
    user.refresh_from_db()
    visitor.come_in(confirmed(signed_in(user)), "/home/external")
    assert visitor.heading == "Use a password instead"


def _changing_the_password(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_profile(visitor, user, client)
    visitor.follow("Sign-in")
    visitor.follow("Change password")
    visitor.type("Current password", "wrong")
    visitor.type("New password", "short")
    visitor.type("Repeat the new password", "short")
    visitor.press("Change password")


def _empty_profile(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.come_in(confirmed(signed_in(user)), "/home/profile")


def _empty_home(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.come_in(signed_in(user), "/home")
    assert "You have no instances yet" in visitor.text


def _monitoring_off(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.come_in(signed_in(user), "/home/monitoring")
    assert "has not enabled managed monitoring" in visitor.text


def _two_pages_of_events(visitor: Visitor, user: User, client: OAuthClient) -> None:
    EventFactory.create_batch(51, account=user.account)
    visitor.come_in(signed_in(user), "/home/events")
    assert "1 of 2" in visitor.text


def _two_replies_in_a_minute(visitor: Visitor, user: User, client: OAuthClient) -> None:
    ticket = TicketFactory(account=user.account, opened_by=user.username)
    TicketReply.objects.bulk_create(
        TicketReply(ticket=ticket, description=LONG_WORD, created_by=user.username) for _ in range(2)
    )
    visitor.come_in(signed_in(user), f"/home/tickets/{ticket.pk}")


def _menu(visitor: Visitor, user: User, client: OAuthClient) -> None:
    _empty_home(visitor, user, client)
    visitor.driver.find_element(By.CSS_SELECTOR, ".user-menu > summary").click()


def _refused_consent(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.come_in(signed_in(user), consent(client, redirect_uri="https://evil.example/"))
    assert visitor.heading == "The app cannot have access"


def _open_for_too_long(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/login")
    visitor.driver.delete_all_cookies()
    visitor.sign_in()
    assert visitor.heading == "This page was open for too long"


def _not_found(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit(f"/{LONG_WORD}/{LONG_WORD}")
    assert visitor.heading == "This page does not exist"


def _token_of_a_link(visitor: Visitor, user: User, client: OAuthClient) -> None:
    actor = Actor(user.account_id or 0, username="staff", is_staff=True)
    _, address = token_links.make_link(actor, user, LONG_WORD, "computes:read_only account:read_write")
    visitor.visit("/" + address.split("/", 3)[3])
    visitor.press("Show the token")


def _used_link(visitor: Visitor, user: User, client: OAuthClient) -> None:
    visitor.visit("/token/used-already")


PAGES: list[Callable] = [
    _wrong_password, _second_factor, _mail_sent, _choosing_a_password, _used_address, _profile, _new_token,
    _made_token, _second_factor_of_staff, _turning_the_second_factor_on, _turning_the_second_factor_off,
    _provider_instead_of_a_password, _changing_the_password, _empty_profile, _empty_home, _monitoring_off,
    _two_pages_of_events, _two_replies_in_a_minute, _menu, _refused_consent, _open_for_too_long, _not_found,
    _token_of_a_link, _used_link,
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.__name__.strip("_"))
def test_a_page_can_be_read_and_used(visitor, owner, client, page):
    page(visitor, owner, client)
    check(visitor)


NOT_WALKED = {
    "external": "leads to the page of signing in",
    "login-code": "needs half a sign-in: `_second_factor`",
    "logout": "ends the session",
    "home-state": "a part of a page",
    "instance-state": "a part of a page",
    "instance-graphs": "a part of a page",
    "instance-events": "a part of a page",
    "instances-states": "a part of a page",
    "instance-alerts": "the page of instance-settings",
    "instance-watchdog": "the page of instance-settings",
    "usage-file": "a file",
    "domain-record": "a part of a page",
    "domain-zone-file-download": "a file",
    "staff-console": "needs staff: tests/browser/test_consoles.py",
}
"""URL names whose pages the walk leaves out, with the reasons."""
WALKED = [name for name in SHOWN if name not in NOT_WALKED]
LEADS_ON = {"set-password", "verify-phone-number"}
"""The names of URLs that lead on to a page of their own."""
WALKS = 4


def test_no_reason_is_left_over():
    assert NOT_WALKED.keys() <= SHOWN.keys()


@pytest.mark.parametrize("walk", range(WALKS))
def test_every_page_of_a_filled_account_can_be_read_and_used(visitor, world, walk):
    visitor.url = visitor.url.replace("127.0.0.1", "localhost")  # security keys work at names, not at IP addresses
    pages, problems = PageWorld.of(world, label=LONG_WORD), {}
    visitor.come_in(pages.browser(pages.owner), "/home")
    for name in WALKED[walk::WALKS]:
        address = pages.address(name, pages.owner)
        visitor.visit(address)
        try:
            assert name in LEADS_ON or visitor.path == address.partition("?")[0]
            check(visitor)
        except AssertionError as error:
            problems[name] = str(error)
    assert not problems, "\n".join(f"{name}: {problem}" for name, problem in problems.items())


class TestTheChecks:
    """A check that never finds a fault would prove nothing."""

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
    def test_find_spoiled_pages(self, visitor, css, found):
        visitor.visit("/login")
        self.spoil(visitor, css)
        with pytest.raises(AssertionError, match=found):
            check(visitor)

    def test_are_those_of_axe_too(self, visitor):
        visitor.visit("/login")
        visitor.driver.execute_script("document.querySelector('header img').removeAttribute('alt')")
        with pytest.raises(AssertionError, match=r"axe found.*image-alt"):
            check(visitor)
