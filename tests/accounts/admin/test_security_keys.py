"""Security keys in the admin. Staff remove a lost one."""

import pytest

from accounts.models import Event, SecurityKey, User
from tests.config.admin.pages import do, list_address, messages_of, page_address

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(world) -> SecurityKey:
    user = User.objects.get(username="worldowner")
    return SecurityKey.objects.create(user=user, name="blue one", credential=b"its-id", public_key=b"its-point")


def test_the_list_shows_users_of_keys_and_no_credential_ids(admin, key):
    for address in (list_address(SecurityKey), page_address(key)):
        text = admin.get(address).content.decode()
        assert "blue one" in text
        assert "worldowner" in text
        assert "its-id" not in text
        assert "its-point" not in text


def test_a_lost_key_is_removed_with_an_event(admin, key):
    assert "removed" in messages_of(do(admin, key, "remove"))
    assert not SecurityKey.objects.exists()
    event = Event.objects.get(action="profile_update")
    assert (event.username, event.message) == ("staff", "The security key blue one was removed.")


def test_staff_users_keys_are_removed_too(admin, key):
    SecurityKey.objects.update(user=User.objects.get(username="staff"))
    key.refresh_from_db()
    do(admin, key, "remove")
    assert not SecurityKey.objects.exists()
