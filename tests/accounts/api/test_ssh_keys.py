"""The SSH keys on a user's profile."""

import pytest

from accounts.actors import Actor
from accounts.models import Event, SSHKey
from accounts.services import ssh_keys
from config.errors import Missing
from tests.client import errors

POINT = "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAAAhAgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"
COMPRESSED = f"ecdsa-sha2-nistp256 {POINT}"
"""A compressed point. RFC 5656, 3.1, allows it, but no SSH program writes it."""
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
PLAIN_KEYS = [
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCQZEgTCKnYkEHWmgWcLA9yC7tdi4ndY0dzRiUCdVpSu0ZhEr5L0mBf8W268+W/XyV4HXYE"
    "8wHaHDPGAbgk/H6PWJ18Cy55IijJqGie5VTuak3ZiYjxAbRfFSEs/74J6/eYyEPfDxR4u3p6BnJduGpWYmFTZdvWMEbDrTc35ff1DKrUmMYN"
    "fC7N5PtFusZL6ILOuniXk6oWapxJUIc57xuZ4VU8d64OOglCERY+x+iLanFYihIR4lC9o/tbX5FeNQCxoqM3/d3nLiRRY/Ci+vnfdqp+lck7"
    "baNH0kFWbr3NrqU1eV90ZpShIyR83rlTVX8B4TzP79drHrmHOHgRnUv9",
    "ssh-dss AAAAB3NzaC1kc3MAAACBAKpuzrPweD/I9HltdTAMAHHUAHPb99Xam4ndoN3UbpEWWSm6jzCLcFRU4tziaXUdWOVIxbBacpZFyYpT"
    "J+YXeHgcF7PW2Lk+Wb5lpj9hm6eMiWY9WAOADm7EYOta3SI0kAcs/E2uUfZZrW5VACNbuvcPqQ5wODB3+EfRVtooIXx/AAAAFQCRVX0QZox8"
    "RDkkIC73wuYkbUZcCQAAAH8lzX8u6maMbNoPtiWdFfchp7NkIa1H0ATmMePQIDxLBeOQ62LmdVYr50P3Hz6My1rpKw0nqUYPo2YDFB+7o0uu"
    "oscrD934WHJj/dHHbK9LwQIyPvHMFytZdMwdITGKHXhcxELz4U5aANr4xzVu9vUOzKD9Cueoz1n3yHBvaziwAAAAgQCUegF9AEokM9TTU1/i"
    "AW4kjmJMWx42sYTv6D/cnXnzVLgQPxm8DPLONaRdeqYfsqC6zrbWlR0IpDAIDO2VaC7Nqc0jnX0ezI5SUKf6ZC4/plB3OPxCIMdaajAVaKpr"
    "M5/PTndAPBhHnGVf3ELDzMrefmLaIvT9lVDAW+8CDDMxMg==",
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEzcoVXnWLsdu6/dymRdRCBImT4J6gRaQGS8"
    "w+3YP8qxW1uzqISdVfsJH2878UkdQmjMdAoOdPxuzYb6WnoMy5g=",
    "ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBNiAZ2sJUvdYpyrAhW+8rxUuOv0FhvkROLIz"
    "5aFh2u0mIVXnyM5KqXcuQewecOQjzgd6GLCgjcsgUyfD1HV9VXET1Jl6QWi/2FLdZ5m5kMghYjebTGtd7xwAMHUxgfYiig==",
    "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBAAtvVtu3tQAMPwXls/Wu7tb5iY7OEsQt+7D"
    "XHgMESLKX4g8elC3i/FB47Wjy5WxRxJ68NWGvqs3o7ZEbgPFd91yEQB/KgCaqCEh0Rc3qwQNTdWKadSkVl95lQ+TElHLDF/V0s5nskZd3EP/"
    "dglhjCzc73RMcJNYVZTevrYnu7Y8VjWZ9g==",
    ED25519,
]
"""One key of each algorithm."""
SECURITY_KEYS = [
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIEgHWll+choVbi4Hmd5cwMUyTcbn6vHN1GJQho"
    "7FMhXdAAAABHNzaDo= yubikey",
    "sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBI5"
    "TO2+gv3tGJbswZnwB+2B++fi4qA/vWzAGKHAxh7Kjc+sdveAzGDZtBp+DpvWQAFPHNjPLBBshxV4ahsH0ALQAAAAEc3NoOg== yubikey",
]
"""Keys as ``ssh-keygen -t ed25519-sk`` and ``-t ecdsa-sk`` write them."""
SHORT_SECURITY_KEY = (
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAH0gHWll+choVbi4Hmd5cwMUyTcbn6vHN1GJQho"
    "7FMhUAAAAEc3NoOg=="
)
"""A key whose point has 31 bytes."""
PLAIN_AS_SECURITY_KEY = f"sk-ssh-ed25519@openssh.com {ED25519.split()[1]}"
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


@pytest.mark.parametrize("key", [*PLAIN_KEYS, *SECURITY_KEYS], ids=lambda key: key.split()[0])
def test_keys_of_each_algorithm_are_accepted(api, key):
    assert api.post(PATH, {"ssh_key": key}).json()["ssh_key"] == key
    assert api.put("/v4/profile", {"authorized_keys": [key]}).json()["authorized_keys"] == [key]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"label": "x"}, "ssh_key"),
        ({"ssh_key": SHORT_SECURITY_KEY}, "ssh_key"),
        ({"ssh_key": PLAIN_AS_SECURITY_KEY}, "ssh_key"),
        ({"ssh_key": f"{ED25519.split()[0]} {SECURITY_KEYS[0].split()[1]}"}, "ssh_key"),
        ({"ssh_key": f"{ED25519.split()[0]} !{ED25519.split()[1]}"}, "ssh_key"),
        ({"ssh_key": ""}, "ssh_key"),
        ({"ssh_key": "ssh-ed25519 AAAA"}, "ssh_key"),
        ({"ssh_key": f"{ED25519}\n{ED25519}"}, "ssh_key"),
        ({"ssh_key": COMPRESSED}, "ssh_key"),
        ({"ssh_key": ED25519, "label": "x" * 65}, "label"),
    ],
    ids=str,
)
def test_an_invalid_key_is_refused_at_its_field(api, body, field):
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


def test_keys_of_another_user_of_the_account_are_not_found(api, client_for, restricted):
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
