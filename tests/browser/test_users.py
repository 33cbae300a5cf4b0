"""An owner invites a user and gives it grants, and sees both among the events."""

import pytest

from accounts.models import Grant, User
from tests.browser.visitor import Visitor
from tests.factories import VolumeFactory

pytestmark = pytest.mark.browser


def test_a_user_is_invited_and_gets_grants(visitor: Visitor, owner, account):
    volume = VolumeFactory(account=account, label="data-1")
    visitor.arrive_as(owner)
    visitor.visit("/home/users")
    visitor.follow("Invite user")
    visitor.type("Username", "robin")
    visitor.type("Email", "robin@example.com")
    visitor.press("Send invitation")
    user = User.objects.get(username="robin")
    assert visitor.path == f"/home/users/{user.pk}/grants"
    visitor.choose("Access to the account", "read only")
    visitor.tick("Create volumes")
    visitor.press("Save")
    assert "The grants on the account are saved." in visitor.text
    visitor.visit(f"/home/users/{user.pk}/grants/volumes")
    visitor.driver.find_element("css selector", f"[name=level-{volume.pk}]").send_keys("read and write")
    visitor.press("Save this page")
    assert Grant.objects.get(user=user).permissions == "read_write"
    visitor.visit("/home/events")
    assert "A user was invited." in visitor.text
    visitor.follow("robin")
    assert visitor.heading == "robin"
