"""Preferences: one object for each user and OAuth client."""

import json

import pytest

from accounts.actors import Actor
from accounts.models import Preferences
from accounts.services import preferences
from config.errors import Missing
from tests.client import APIClient

PATH = "/v4/profile/preferences"


def test_what_is_stored_comes_back_with_its_keys_in_order(api):
    assert api.get(PATH).json() == {}
    wanted = {"z": {"b": 1, "a": [None, 1.5, True]}, "a": "ø 💥", "10": {}, "9": ""}
    stored = api.put(PATH, wanted)
    assert json.dumps(stored.json()) == json.dumps(wanted)
    assert json.dumps(api.get(PATH).json()) == json.dumps(wanted)


def test_they_are_replaced_as_a_whole(api):
    api.put(PATH, {"a": 1, "b": 2})
    api.put(PATH, {"b": 3})
    assert api.get(PATH).json() == {"b": 3}
    assert Preferences.objects.count() == 1


def test_every_app_has_its_own_and_all_personal_tokens_share_one(api, client_for, owner, web, spa):
    api.put(PATH, {"of": "tokens"})
    first = APIClient(web.tokens(owner, "account:read_write")["access_token"])
    second = APIClient(spa.tokens(owner, "account:read_write")["access_token"])
    assert first.get(PATH).json() == {}
    first.put(PATH, {"of": "web"})
    assert second.get(PATH).json() == {}
    assert client_for(owner).get(PATH).json() == {"of": "tokens"}
    assert first.get(PATH).json() == {"of": "web"}


def test_other_users_have_their_own(api, client_for, restricted):
    api.put(PATH, {"a": 1})
    assert client_for(restricted).get(PATH).json() == {}


def body_of(length: int) -> bytes:
    """A body of so many characters, not bytes."""
    return ('{"k": "' + "ø" * (length - 9) + '"}').encode()


def test_a_body_may_have_65535_characters_and_not_one_more(api):
    assert len(body_of(65_535).decode()) == 65_535
    assert api.put(PATH, body_of(65_535)).status_code == 200
    answer = api.put(PATH, body_of(65_536))
    assert answer.status_code == 400
    assert "65535" in answer.json()["errors"][0]["reason"]
    assert len(api.get(PATH).json()["k"]) == 65_526


def test_what_is_nested_too_deeply_is_refused(api):
    assert api.put(PATH, b'{"a": ' + b"[" * 600 + b"]" * 600 + b"}").status_code == 400


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"{", b'{"a": "\\u0000"}', b"null"])
def test_only_a_json_object_is_taken(api, body):
    assert api.put(PATH, body).status_code == 400
    assert api.get(PATH).json() == {}


def test_a_client_that_was_deleted_meanwhile_writes_to_no_other_set(owner):
    Preferences.objects.create(user=owner, body='{"kept": 1}')
    with pytest.raises(Missing):
        preferences.write(Actor(owner.account_id, owner.pk, "owner", client_id="0" * 20), '{"new": 2}')
    assert Preferences.objects.get().body == '{"kept": 1}'
