"""A security key in a browser: Chromium's virtual one, which confirms its own touch."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions

from accounts.models import SecurityKey, User
from tests.browser.looks import check
from tests.browser.second_factors import code, give_second_factor
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.browser


@pytest.fixture
def by_name(visitor) -> Visitor:
    """The visitor, who uses the site by a name: browsers use no security keys for an IP address."""
    visitor.url = visitor.url.replace("127.0.0.1", "localhost")
    return visitor


@pytest.fixture
def with_key(by_name) -> Iterator[Visitor]:
    """The visitor with a key, which counts its uses and needs no PIN."""
    options = VirtualAuthenticatorOptions()
    options.transport = VirtualAuthenticatorOptions.Transport.USB
    by_name.driver.add_virtual_authenticator(options)
    yield by_name
    by_name.driver.remove_virtual_authenticator()


@pytest.fixture
def owner(owner) -> User:
    """The owner, with a second factor."""
    give_second_factor(owner)
    return owner


def come_in(visitor: Visitor) -> None:
    visitor.visit("/login?next=/home/profile/sign-in")
    visitor.sign_in()
    visitor.type("Code", code())
    visitor.press("Continue")
    assert visitor.path == "/home/profile/sign-in"


def test_a_key_is_added_and_lets_its_owner_in(with_key, owner):
    visitor = with_key
    come_in(visitor)
    visitor.follow("Add security key")
    check(visitor)
    visitor.type("Name", "on my ring")
    visitor.press("Add key")
    assert "The security key on my ring was added." in visitor.text
    assert visitor.path == "/home/profile/sign-in"
    check(visitor)
    visitor.follow("Add security key")
    visitor.type("Name", "the same")
    visitor.button("Add key").click()
    visitor.wait_for(lambda: visitor.problem == "This key is registered already.")
    visitor.visit("/logout")
    visitor.visit("/login")
    visitor.sign_in()
    check(visitor)
    visitor.press("Use a security key")
    assert (visitor.path, visitor.heading) == ("/home", "Home")
    assert SecurityKey.objects.get().sign_count > 1


def test_without_scripts_there_is_the_code(by_name, owner):
    SecurityKey.objects.create(user=owner, name="x", credential=b"x", public_key=b"x")
    by_name.disable_scripts()
    come_in(by_name)
    by_name.follow("Add security key")
    assert "Adding a key needs JavaScript" in by_name.text
    assert "Add key" not in by_name.text
