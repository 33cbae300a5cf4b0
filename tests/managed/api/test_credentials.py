"""Credentials are encrypted, and only staff read them, each time for a reason. The account's key pair too."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key
from django.db import connection

from accounts.actors import Actor
from accounts.models import Event
from config.encryption import decrypt_json
from config.errors import Invalid, Missing
from managed.models import Credential, Decryption, KeyPair
from managed.services import credentials, keys
from tests.factories import CredentialFactory, ServiceFactory

pytestmark = pytest.mark.django_db
PATH = "/v4/managed/credentials"
NEW = {"label": "web-1 root", "username": "root", "password": " s3cret pass "}


def support(account) -> Actor:
    return Actor(account.pk, username="helen", is_staff=True)


def test_a_credential_never_comes_back(api, account):
    made = api.post(PATH, NEW).json()
    assert made == {"id": made["id"], "label": "web-1 root", "last_decrypted": None}
    assert api.get(PATH).json()["data"] == [made]
    assert api.get(f"{PATH}/{made['id']}").json() == made
    kept = Credential.objects.get()
    assert b"s3cret" not in bytes(kept.encrypted)
    assert decrypt_json(kept.encrypted) == {"username": "root", "password": " s3cret pass "}
    assert "s3cret" not in str(list(Event.objects.values()))


def test_put_changes_the_label_and_nothing_else(api):
    made = api.post(PATH, NEW).json()
    changed = api.put(f"{PATH}/{made['id']}", {"label": "another", "password": "ignored", "username": "ignored"})
    assert changed.json() == {**made, "label": "another"}
    assert decrypt_json(Credential.objects.get().encrypted)["password"] == " s3cret pass "


def test_a_rename_back_to_a_stale_label_is_written(account, owner):
    credential = CredentialFactory(account=account, label="old")
    actor, stale = Actor(account.pk, owner.pk, "owner"), Credential.objects.get(pk=credential.pk)
    credentials.rename(actor, credential, "new")
    assert credentials.rename(actor, stale, "old").label == "old"
    credential.refresh_from_db()
    assert credential.label == "old"
    assert Event.objects.count() == 2


def test_update_replaces_the_password_and_the_username_where_one_is_given(api):
    made = api.post(PATH, NEW).json()
    assert api.post(f"{PATH}/{made['id']}/update", {"password": "next"}).json() == {}
    assert decrypt_json(Credential.objects.get().encrypted) == {"username": "root", "password": "next"}
    api.post(f"{PATH}/{made['id']}/update", {"password": "last", "username": ""})
    assert decrypt_json(Credential.objects.get().encrypted) == {"username": "", "password": "last"}


@pytest.mark.parametrize("way", ["delete", "revoke"])
def test_deleting_and_revoking_are_the_same(api, account, way):
    made = api.post(PATH, NEW).json()
    service = ServiceFactory(account=account)
    service.credentials.set([made["id"]])
    answer = api.delete(f"{PATH}/{made['id']}") if way == "delete" else api.post(f"{PATH}/{made['id']}/revoke")
    assert answer.json() == {}
    assert api.get(f"{PATH}/{made['id']}").status_code == 404
    assert not service.credentials.exists()
    assert Event.objects.latest("pk").message == "The credential web-1 root was revoked."


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"label": "x"}, "label"),
        ({"label": "x" * 76}, "label"),
        ({"label": "a\nb"}, "label"),
        ({"label": None}, "label"),
        ({"password": ""}, "password"),
        ({"password": None}, "password"),
        ({"username": "x" * 5001}, "username"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_input_names_the_field_and_keeps_nothing(api, changes, field):
    answer = api.post(PATH, {**NEW, **changes})
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert not Credential.objects.exists()


def test_label_and_password_have_to_be_there(api, account):
    assert {each["field"] for each in api.post(PATH, {}).json()["errors"]} == {"label", "password"}
    credential = CredentialFactory(account=account)
    answer = api.post(f"{PATH}/{credential.pk}/update", {"username": "x"})
    assert [each["field"] for each in answer.json()["errors"]] == ["password"]


def test_labels_are_unique_on_the_account(api, account):
    first, _ = CredentialFactory(account=account, label="one"), CredentialFactory(label="two")
    second = api.post(PATH, {**NEW, "label": "two"})
    assert second.status_code == 200
    for answer in (api.post(PATH, {**NEW, "label": "one"}), api.put(f"{PATH}/{first.pk}", {"label": "two"})):
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "label"


def test_credentials_of_another_account_do_not_exist(api):
    path = f"{PATH}/{CredentialFactory().pk}"
    assert [call(path).status_code for call in (api.get, api.put, api.delete)] == [404] * 3
    assert api.post(f"{path}/revoke").status_code == 404
    assert api.post(f"{path}/update", {"password": "x"}).status_code == 404


# --- what staff do ------------------------------------------------------------------------------------------


def test_reading_a_credential_is_recorded_and_has_an_event(api, account):
    made = api.post(PATH, NEW).json()
    credential = Credential.objects.get()
    secret = credentials.decrypt(support(account), credential, " the disk\nis full ")
    assert (secret.username, secret.password) == ("root", " s3cret pass ")
    assert api.get(f"{PATH}/{made['id']}").json()["last_decrypted"] is not None
    read = Decryption.objects.get()
    assert (read.account, read.credential, read.label) == (account, credential, "web-1 root")
    assert (read.username, read.reason) == ("helen", "the disk is full")
    event = api.get("/v4/account/events").json()["data"][0]
    assert event["message"] == "Support read the credential web-1 root: the disk is full"
    assert event["username"] == "helen"
    assert "s3cret" not in repr(secret)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_nothing_is_read_without_a_reason(account, reason):
    credential = CredentialFactory(account=account)
    with pytest.raises(Invalid, match="reason"):
        credentials.decrypt(support(account), credential, reason)
    credential.refresh_from_db()
    assert credential.last_decrypted is None
    assert not Decryption.objects.exists()
    assert not Event.objects.exists()


def test_only_staff_read_them(account, owner):
    with pytest.raises(RuntimeError):
        credentials.decrypt(Actor(account.pk, owner.pk, "owner"), CredentialFactory(account=account), "curious")


def test_a_revoked_credential_cannot_be_read_but_its_readers_are_kept(account):
    credential = CredentialFactory(account=account)
    credentials.decrypt(support(account), credential, "once")
    credentials.revoke(support(account), credential)
    with pytest.raises(Missing):
        credentials.decrypt(support(account), credential, "again")
    assert Decryption.objects.get().credential is None


def test_a_key_that_is_gone_says_so_and_stamps_nothing(account, settings):
    credential = CredentialFactory(account=account)
    settings.ENCRYPTION_KEYS = ["another"]
    with pytest.raises(Invalid, match="No encryption key can decrypt it"):
        credentials.decrypt(support(account), credential, "hurry")
    assert not Decryption.objects.exists()


def test_a_credential_that_no_key_decrypts_can_only_be_replaced_whole(api, account, settings):
    credential = CredentialFactory(account=account)
    settings.ENCRYPTION_KEYS = ["another"]
    refused = api.post(f"{PATH}/{credential.pk}/update", {"password": "next"})
    assert refused.status_code == 400
    assert [each["field"] for each in refused.json()["errors"]] == ["username"]
    assert api.post(f"{PATH}/{credential.pk}/update", {"password": "next", "username": "root"}).json() == {}
    credential.refresh_from_db()
    assert decrypt_json(credential.encrypted) == {"username": "root", "password": "next"}


# --- the SSH key --------------------------------------------------------------------------------------------


def test_the_account_has_one_key_pair_made_when_it_is_first_asked_for(api, account):
    assert not KeyPair.objects.exists()
    line = api.get(f"{PATH}/sshkey").json()["ssh_key"]
    assert line.startswith("ssh-ed25519 ")
    assert api.get(f"{PATH}/sshkey").json()["ssh_key"] == line
    pair = KeyPair.objects.get()
    private = load_ssh_private_key(decrypt_json(pair.encrypted)["private"].encode(), None)
    assert private.public_key() == load_ssh_public_key(line.encode())
    assert [event.message for event in Event.objects.all()] == ["The SSH key of managed was created."]


def test_accounts_have_keys_of_their_own(api, client_for, stranger):
    stranger.account.managed = True
    stranger.account.save()
    theirs = client_for(stranger).get(f"{PATH}/sshkey").json()["ssh_key"]
    assert theirs != api.get(f"{PATH}/sshkey").json()["ssh_key"]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_first_requests_get_one_key(account, owner):
    def ask(_):
        try:
            return keys.public_key(Actor(account.pk, owner.pk, "owner"))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert Event.objects.count() == 1
