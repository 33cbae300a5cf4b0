"""Users manage their own tokens, SSH keys, second factor and password."""

import shlex
import subprocess

import pyotp
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from accounts.models import PersonalToken, SecondFactor, SSHKey
from accounts.services.users import password_path
from tests.browser.visitor import PASSWORD, SECONDS, Visitor

NEW = "Tall-ships.sail-at-9"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
CLICK_TWICE = """
const prevented = []
addEventListener('submit', event => prevented.push(event.defaultPrevented))
arguments[0].click()
arguments[0].click()
return prevented
"""
EVERYTHING = "Everything that you can do, your account included"
SINGLE = "Single permissions"
pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.browser]


@pytest.fixture
def at_home(visitor, owner) -> Visitor:
    visitor.arrive_as(owner)
    visitor.visit("/home/profile")
    return visitor


@pytest.fixture
def at_tokens(at_home) -> Visitor:
    at_home.follow("Tokens")
    return at_home


def set_up_a_second_factor(visitor: Visitor) -> str:
    """Set a second factor up on four pages, without answered questions. Returns the scratch code."""
    visitor.visit("/home/profile/sign-in")
    visitor.follow("Turn on the second factor")
    visitor.press("Answer the questions")
    for number, answer in enumerate(("Bergen", "Rex", "Volvo"), start=1):
        visitor.type(f"Answer {number}", answer)
    visitor.press("Save answers")
    secret = visitor.words_of("secret")
    visitor.type("Code from the app", "000 000")
    visitor.press("Turn on")
    assert "The code is not right." in visitor.problem
    assert visitor.words_of("secret") == secret, "what was scanned already still counts"
    visitor.type("Code from the app", pyotp.TOTP(secret).now())
    visitor.press("Turn on")
    return visitor.words_of("scratch")


class TestTokens:
    def go_to(self, visitor: Visitor, words: str) -> None:
        """Press Tab until the element with these words has the focus."""
        passed: list[str] = []
        while visitor.focused != words:
            assert passed.count(visitor.focused) < 2, passed
            passed.append(visitor.focused)
            visitor.keys(Keys.TAB)

    def make(self, visitor: Visitor) -> str:
        visitor.follow("Create token")
        visitor.type("Label", "laptop")
        visitor.press("Create token")
        return visitor.words_of("token")

    def test_its_line_works_in_a_terminal(self, at_tokens):
        token = self.make(at_tokens)
        line = at_tokens.words_of("command")
        assert token in line
        done = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=SECONDS)
        assert '"username":"owner"' in done.stdout, done.stderr

    def test_it_is_gone_from_the_page_that_follows_and_from_the_one_before(self, at_tokens):
        token = self.make(at_tokens)
        at_tokens.follow("I have stored it: back to the tokens")
        assert "laptop" in at_tokens.text
        assert token not in at_tokens.driver.page_source
        assert token[:16] in at_tokens.text

    @pytest.mark.parametrize(("source", "words"), [("token", "Copy token"), ("command", "Copy command")])
    def test_it_is_copied(self, at_tokens, source, words):
        self.make(at_tokens)
        at_tokens.command(
            "Browser.grantPermissions", origin=at_tokens.url,
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
        )  # fmt: skip
        at_tokens.button(words).click()
        WebDriverWait(at_tokens.driver, SECONDS, 0.02).until(lambda _: "Copied" in at_tokens.text)
        # pasted by keys: a headless browser lets a script read the clipboard only if its window has the focus
        shown = at_tokens.words_of(source)
        at_tokens.visit("/home/tokens/new")
        at_tokens.field("Label").send_keys(Keys.CONTROL, "v")
        assert at_tokens.field("Label").get_attribute("value") == shown[:100]

    def test_without_scripts_there_is_no_button_and_all_else_works(self, at_tokens):
        at_tokens.disable_scripts()
        at_tokens.visit("/home/profile/tokens")
        assert len(self.make(at_tokens)) == 64
        assert not [each for each in at_tokens.driver.find_elements(By.TAG_NAME, "button") if each.is_displayed()]

    def test_single_permissions_are_shown_where_they_are_chosen(self, at_tokens):
        at_tokens.follow("Create token")
        box = at_tokens.driver.find_element(By.ID, "scope-computes:read_only")
        assert not box.is_displayed()
        at_tokens.tick(SINGLE)
        assert box.is_displayed()
        at_tokens.tick(EVERYTHING)
        at_tokens.type("Label", "all")
        at_tokens.press("Create token")
        assert PersonalToken.objects.get().scopes == "*"

    def test_a_second_click_does_not_send_the_form_again(self, at_tokens, owner):
        at_tokens.follow("Create token")
        at_tokens.type("Label", "laptop")
        with at_tokens.leaving():
            assert at_tokens.driver.execute_script(CLICK_TWICE, at_tokens.button("Create token")) == [False, True]
        assert at_tokens.words_of("token")
        assert PersonalToken.objects.get(user=owner).label == "laptop"

    def test_a_form_can_be_sent_again_after_the_back_button(self, at_tokens, owner):
        at_tokens.follow("Create token")
        for label in ("laptop", "phone"):
            at_tokens.type("Label", label)
            at_tokens.press("Create token")
            assert at_tokens.words_of("token")
            at_tokens.back()
        assert {token.label for token in PersonalToken.objects.filter(user=owner)} == {"laptop", "phone"}

    def test_a_day_is_asked_for_where_one_is_to_be_chosen(self, at_tokens):
        at_tokens.follow("Create token")
        day = at_tokens.driver.find_element(By.ID, "id_until")
        assert not day.is_displayed()
        at_tokens.choose("Expires", "on a date that I choose")
        assert day.is_displayed()

    def test_a_token_is_created_by_keyboard_alone(self, at_tokens):
        at_tokens.visit("/home/tokens/new")
        self.go_to(at_tokens, "Label")
        at_tokens.keys("ci")
        at_tokens.enter()
        assert at_tokens.heading == "Your new token"


def test_an_ssh_key_is_added_and_removed(at_home):
    at_home.follow("SSH keys")
    at_home.follow("Add SSH key")
    at_home.type("Public key", "ssh-ed25519 nothing")
    at_home.press("Add key")
    assert at_home.problem == '"Public key" is not valid'
    at_home.type("Public key", KEY)
    at_home.press("Add key")
    assert (at_home.path, "The key me@laptop was added." in at_home.text) == ("/home/profile/ssh-keys", True)
    at_home.open("Remove me@laptop")
    at_home.press("Yes, remove")
    assert not SSHKey.objects.exists()


class TestTheSecondFactor:
    def test_is_turned_on_used_and_turned_off(self, at_home):
        scratch = set_up_a_second_factor(at_home)
        at_home.follow("I have stored it: back to the profile")
        at_home.sign_out()
        at_home.visit("/login?next=/home/profile/sign-in")
        at_home.sign_in()
        assert at_home.heading == "Second factor"
        at_home.type("Code", scratch)
        at_home.press("Continue")
        at_home.follow("Change the second factor")
        at_home.open("Turn off the second factor")
        at_home.press("Yes, turn off")
        assert "The second factor is off." in at_home.text
        assert not SecondFactor.objects.exists()

    def test_needs_no_scripts(self, at_home):
        at_home.disable_scripts()
        assert len(set_up_a_second_factor(at_home)) == 20

    def test_its_picture_is_drawn_large_enough_for_a_camera(self, at_home):
        set_up_a_second_factor(at_home)
        at_home.visit("/home/second-factor")
        at_home.press("Set up again")
        picture = at_home.driver.find_element(By.CSS_SELECTOR, ".qr-code svg")
        assert picture.size["width"] == picture.size["height"] >= 200


def test_a_password_is_changed_and_this_browser_stays_signed_in(at_home):
    at_home.follow("Sign-in")
    at_home.follow("Change password")
    at_home.type("Current password", PASSWORD)
    at_home.type("New password", NEW)
    at_home.type("Repeat the new password", NEW)
    at_home.press("Change password")
    assert (at_home.path, "Your password was changed." in at_home.text) == ("/home/profile/sign-in", True)
    at_home.sign_out()
    at_home.visit("/login")
    at_home.sign_in(password=NEW)
    assert at_home.heading == "Home"


def test_from_the_mail_to_the_first_call_of_the_api(visitor, owner):
    visitor.visit(password_path(owner))
    visitor.type("New password", NEW)
    visitor.type("Repeat the new password", NEW)
    visitor.press("Set password")
    visitor.visit("/home/profile/tokens")
    TestTokens().test_its_line_works_in_a_terminal(visitor)
