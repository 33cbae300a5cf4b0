"""Users sign in and out."""

import hashlib

import pytest
from django.core import mail
from selenium.webdriver.common.keys import Keys

from accounts.models import TrustedDevice
from accounts.services import outbox
from tests.browser.second_factors import code, give_second_factor
from tests.browser.visitor import PASSWORD
from tests.client import APIClient
from tests.factories import token_of

NEW = "Tall-ships.sail-at-9"
SCRATCH = "0123456789abcdef"
pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.browser]


@pytest.fixture
def factor(owner) -> None:
    """Give the owner a second factor."""
    give_second_factor(owner, scratch=hashlib.sha256(SCRATCH.encode()).hexdigest())


def mailed_address() -> str:
    """Return the address in the latest mail."""
    assert outbox.send_due() == 1
    return next(word for word in mail.outbox[-1].body.split() if "/password/" in word)


class TestWithAPassword:
    def test_a_wrong_one_is_refused_and_the_right_one_leads_home(self, visitor):
        visitor.visit("/login")
        visitor.sign_in(password="wrong")
        assert "correct username and password" in visitor.problem
        assert visitor.field("Username").get_attribute("value") == "owner"
        assert visitor.field("Password").get_attribute("value") == ""
        visitor.sign_in()
        assert (visitor.path, visitor.heading) == ("/home", "Home")

    def test_it_works_without_scripts(self, visitor):
        visitor.disable_scripts()
        visitor.visit("/home")
        assert visitor.path == "/login"
        visitor.sign_in()
        assert visitor.heading == "Home"
        visitor.sign_out()
        assert visitor.heading == "You are signed out"

    def test_it_works_by_keyboard_alone(self, visitor):
        visitor.visit("/login")
        assert visitor.focused == "Username"
        visitor.keys("owner", Keys.TAB)
        assert visitor.focused == "Password"
        visitor.keys("wrong", Keys.TAB)
        assert visitor.focused == "Remember this browser for 30 days"
        visitor.keys(Keys.SPACE, Keys.TAB)
        assert visitor.focused == "Sign in"
        visitor.enter()
        assert "correct username and password" in visitor.problem
        assert visitor.focused == "Username"
        assert visitor.field("Remember this browser for 30 days").is_selected()
        visitor.keys(Keys.TAB, PASSWORD)
        visitor.enter()
        assert visitor.heading == "Home"
        assert TrustedDevice.objects.exists()

    def test_a_suspended_user_gets_the_reason(self, visitor, account):
        account.is_active = False
        account.save(update_fields=["is_active"])
        visitor.visit("/login")
        visitor.sign_in()
        assert visitor.problem == "This account is suspended."

    def test_signing_out_ends_the_session(self, visitor):
        visitor.visit("/login")
        visitor.sign_in()
        visitor.sign_out()
        assert visitor.heading == "You are signed out"
        visitor.visit("/home")
        assert visitor.heading == "Sign in"
        visitor.back()
        assert visitor.heading == "You are signed out"

    def test_a_session_leads_to_where_one_was_going(self, visitor):
        visitor.visit("/home")
        assert visitor.path == "/login"
        visitor.sign_in()
        assert visitor.path == "/home"


@pytest.mark.usefixtures("factor")
class TestWithASecondFactor:
    def test_a_code_of_the_app_is_asked_for_and_wrong_ones_are_refused(self, visitor):
        visitor.visit("/login")
        visitor.sign_in()
        assert visitor.heading == "Second factor"
        visitor.type("Code", "wrong")
        visitor.press("Continue")
        assert visitor.problem == "The code is not right, or was used already."
        visitor.visit("/home")
        assert visitor.path == "/login"
        visitor.visit("/login/code")
        visitor.type("Code", code())
        visitor.press("Continue")
        assert visitor.heading == "Home"

    def test_a_code_works_once(self, visitor):
        used = code(ahead=1)  # valid for a minute at least, because the pages take a while
        for heading in ("Home", "Second factor"):
            visitor.visit("/logout")
            visitor.visit("/login")
            visitor.sign_in()
            visitor.type("Code", used)
            visitor.press("Continue")
            assert visitor.heading == heading
        assert visitor.problem

    def test_the_scratch_code_lets_in_once(self, visitor):
        for heading in ("Home", "Second factor"):
            visitor.visit("/logout")
            visitor.visit("/login")
            visitor.sign_in()
            visitor.type("Code", SCRATCH)
            visitor.press("Continue")
            assert visitor.heading == heading
        assert visitor.problem

    def test_a_remembered_browser_skips_the_code_until_it_is_forgotten(self, visitor, owner):
        visitor.visit("/login")
        visitor.sign_in(remember=True)
        visitor.type("Code", code())
        visitor.press("Continue")
        visitor.visit("/home/profile/browsers")
        assert "(this browser)" in visitor.text
        visitor.sign_out()
        visitor.visit("/login")
        visitor.sign_in()
        assert visitor.heading == "Home"

        device = TrustedDevice.objects.get()
        api = APIClient(token_of(owner))
        assert api.delete(f"/v4/profile/devices/{device.pk}").status_code == 200
        visitor.visit("/home")
        assert visitor.path == "/login"
        visitor.sign_in()
        assert visitor.heading == "Second factor"


class TestAPasswordByMail:
    def test_a_forgotten_password_is_replaced_by_mail(self, visitor):
        visitor.visit("/login")
        visitor.follow("Forgot your password?")
        visitor.type("Username or email", "owner@example.com")
        visitor.press("Send email")
        assert visitor.heading == "Check your email"
        address = mailed_address()
        visitor.visit(address)
        visitor.type("New password", "short")
        visitor.type("Repeat the new password", "short")
        visitor.press("Set password")
        assert "too short" in visitor.problem
        visitor.type("New password", NEW)
        visitor.type("Repeat the new password", NEW)
        visitor.press("Set password")
        assert visitor.heading == "Home"
        visitor.sign_out()
        visitor.visit("/login")
        visitor.sign_in()
        assert visitor.problem
        visitor.sign_in(password=NEW)
        assert visitor.heading == "Home"
        visitor.visit(address)
        assert visitor.heading == "This link does not work any more"

    def test_an_invited_user_chooses_the_first_password(self, visitor, owner):
        api = APIClient(token_of(owner))
        invited = {"username": "kari", "email": "kari@example.com", "restricted": True}
        assert api.post("/v4/account/users", invited).status_code == 200
        visitor.visit(mailed_address())
        assert "For kari." in visitor.text
        visitor.type("New password", NEW)
        visitor.type("Repeat the new password", NEW)
        visitor.press("Set password")
        assert visitor.heading == "Home"
        assert "Ask an unrestricted user of your account" in visitor.text
