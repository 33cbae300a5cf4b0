"""The SSH keys on a user's profile."""

import pytest

from accounts.actors import Actor
from accounts.models import Event, SSHKey
from accounts.services import ssh_keys
from config.errors import Missing
from tests.client import errors

POINT = "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAAAhAgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
COMPRESSED = f"ecdsa-sha2-nistp256 {POINT}"
"""A point as no SSH program writes it (RFC 5656, 3.1, leaves it open)."""
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
PATH = "/v4/profile/sshkeys"


def test_a_key_is_added_listed_renamed_and_removed(api, owner):
    made = api.post(PATH, {"label": "laptop", "ssh_key": f"  {ED25519}\n"}).json()
    assert (made["label"], made["ssh_key"]) == ("laptop", ED25519)
    assert api.get(PATH).json()["data"] == [made]
    assert api.put(f"{PATH}/{made['id']}", {"label": "desk", "ssh_key": "ignored"}).json()["label"] == "desk"
    assert api.get(f"{PATH}/{made['id']}").json() == {**made, "label": "desk"}
    assert api.delete(f"{PATH}/{made['id']}").json() == {}
    assert api.get(f"{PATH}/{made['id']}").status_code == 404
    events = Event.objects.order_by("pk").values_list("action", "entity_label", "username")
    assert list(events) == [
        ("user_ssh_key_add", "laptop", owner.username),
        ("user_ssh_key_update", "desk", owner.username),
        ("user_ssh_key_delete", "desk", owner.username),
    ]


def test_a_key_without_a_label_is_called_by_its_comment(api):
    assert api.post(PATH, {"ssh_key": ED25519}).json()["label"] == "me@laptop"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"label": "x"}, "ssh_key"),
        ({"ssh_key": ""}, "ssh_key"),
        ({"ssh_key": "ssh-ed25519 AAAA"}, "ssh_key"),
        ({"ssh_key": f"{ED25519}\n{ED25519}"}, "ssh_key"),
        ({"ssh_key": COMPRESSED}, "ssh_key"),
        ({"ssh_key": ED25519, "label": "x" * 65}, "label"),
    ],
    ids=str,
)
def test_what_is_no_key_is_refused_by_name(api, body, field):
    answer = api.post(PATH, body)
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not SSHKey.objects.exists()


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("", "ssh_key is required"),
        ("ssh-ed25519 AAAA", "ssh_key is not valid"),
        ("ssh-new AAAA", "ssh_key is not valid: SSH key type is not supported"),
    ],
)
def test_all_that_is_wrong_is_named_at_once(api, key, reason):
    answer = api.post(PATH, {"ssh_key": key, "label": "x" * 65})
    assert errors(answer) == {"ssh_key": reason, "label": "Length must be 0-64 characters"}


def test_nobody_reaches_the_keys_of_another_user_of_the_account(api, client_for, restricted):
    made = api.post(PATH, {"ssh_key": ED25519}).json()
    other = client_for(restricted)
    assert other.get(PATH).json()["results"] == 0
    for call in (other.get, other.delete, other.put):
        assert call(f"{PATH}/{made['id']}").status_code == 404
    assert SSHKey.objects.count() == 1


def test_a_key_that_was_removed_meanwhile_is_missing(api, owner):
    api.post(PATH, {"ssh_key": ED25519})
    key = SSHKey.objects.get()
    SSHKey.objects.all().delete()
    with pytest.raises(Missing):
        ssh_keys.rename(Actor(owner.account_id, owner.pk, "owner"), key, "desk")
