"""``manage.py rotate_keys`` encrypts everything under the first key, with concurrent changes."""

import io
import os
import subprocess
import sys

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import models

from accounts.models import Message, SecondFactor
from compute.models import Job
from config import encryption
from config.encryption import decrypt_json, encrypt_json
from config.management.commands import rotate_keys
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

OLD, NEW = ["the old key"], ["the new key", "the old key"]


def rotate(*arguments: str) -> str:
    out = io.StringIO()
    call_command("rotate_keys", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def stored() -> list[bytes]:
    return [bytes(encrypted) for encrypted in Message.objects.order_by("id").values_list("encrypted", flat=True)]


@pytest.fixture
def encrypted(settings):
    """Two secrets and two messages under the old key, which is the second key afterwards."""
    settings.ENCRYPTION_KEYS = OLD
    factors = [
        SecondFactor(user=UserFactory(), encrypted=encrypt_json({"secret": "S"}), pending=None) for _ in range(2)
    ]
    SecondFactor.objects.bulk_create(factors)
    texts = [
        Message(channel="sms", recipient="+4712345678", encrypted=encrypt_json({"text": str(n)})) for n in range(2)
    ]
    Message.objects.bulk_create(texts)
    settings.ENCRYPTION_KEYS = NEW


def test_the_old_key_can_go_afterwards(encrypted, settings):
    assert rotate() == "4 re-encrypted, 0 already use the first key.\n"
    settings.ENCRYPTION_KEYS = NEW[:1]
    assert [decrypt_json(each.encrypted) for each in SecondFactor.objects.all()] == [{"secret": "S"}] * 2
    assert [decrypt_json(each.encrypted) for each in Message.objects.order_by("id")] == [
        {"text": "0"},
        {"text": "1"},
    ]


def test_batches_leave_none_out(encrypted, monkeypatch):
    monkeypatch.setattr(rotate_keys, "BATCH", 1)
    assert rotate().startswith("4 re-encrypted")


def test_it_goes_on_where_it_was_interrupted(encrypted, monkeypatch):
    real, calls = encryption.reencrypt, []

    def interrupted(value):
        calls.append(value)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(value)

    monkeypatch.setattr(rotate_keys, "reencrypt", interrupted)
    with pytest.raises(CommandError, match="Stopped after 2 secrets: run the command again") as stopped:
        rotate()
    assert stopped.value.returncode == 130
    monkeypatch.setattr(rotate_keys, "reencrypt", real)
    assert rotate() == "2 re-encrypted, 2 already use the first key.\n"


def test_check_counts_and_changes_nothing(encrypted):
    before = stored()
    with pytest.raises(CommandError, match="Older keys are in use"):
        rotate("--check")
    assert stored() == before
    rotate()
    assert rotate("--check") == "0 to do, 4 already use the first key.\n"


def test_values_written_during_the_rotation_stay(encrypted, monkeypatch):
    """A request encrypts a new value between our read and our write. Its value wins."""
    real = encryption.reencrypt

    def overtaken(value):
        SecondFactor.objects.update(encrypted=encrypt_json({"secret": "newer"}))
        return real(value)

    monkeypatch.setattr(rotate_keys, "reencrypt", overtaken)
    rotate()
    assert [decrypt_json(each.encrypted) for each in SecondFactor.objects.all()] == [{"secret": "newer"}] * 2


def test_values_that_no_key_decrypts_are_named_and_left(encrypted, settings):
    settings.ENCRYPTION_KEYS = ["stranger"]
    message = Message.objects.create(
        channel="sms", recipient="+4712345678", encrypted=encrypt_json({"text": "lost"})
    )
    settings.ENCRYPTION_KEYS = NEW
    output = io.StringIO()
    with pytest.raises(CommandError, match="No key decrypts 1 secret"):
        call_command("rotate_keys", stdout=output, stderr=io.StringIO())
    assert f"no key decrypts accounts.Message.encrypted of {message.pk}" in output.getvalue().splitlines()
    settings.ENCRYPTION_KEYS = ["stranger"]
    assert decrypt_json(Message.objects.get(pk=message.pk).encrypted) == {"text": "lost"}


@pytest.mark.parametrize("written", ["new,old", "new, old", " new , old ", "new,old,", ",new,,old"])
def test_spaces_and_commas_too_many_make_no_other_keys(written):
    """With ``, old``, no key decrypts what ``old`` encrypted, and everybody knows an empty key."""
    done = subprocess.run(
        [sys.executable, "-c", "from config import settings; print(settings.ENCRYPTION_KEYS)"],
        env={**os.environ, "ENCRYPTION_KEYS": written},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "['new', 'old']"


def test_every_column_of_the_kind_is_found():
    found = {str(column) for column in rotate_keys.encrypted_columns()}
    assert {"accounts.SecondFactor.encrypted", "accounts.SecondFactor.pending", "compute.Job.encrypted"} <= found
    assert isinstance(Job._meta.get_field("encrypted"), models.BinaryField)


def test_no_secret_is_kept_in_a_plain_column():
    """Binary columns are encrypted, or hold pictures, or the public data of security keys."""
    plain = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_fields
        if isinstance(field, models.BinaryField) and not isinstance(field, encryption.EncryptedField)
    }
    assert plain == {
        "accounts.OAuthClient.thumbnail", "accounts.Picture.content",
        "accounts.SecurityKey.credential", "accounts.SecurityKey.public_key",
    }  # fmt: skip


def test_values_of_an_earlier_release_are_decrypted_and_encrypted_again(settings):
    """An earlier release used the keys without derivation."""
    settings.ENCRYPTION_KEYS = OLD
    encrypted = encryption._plain(OLD[0]).encrypt(b'{"text": "before"}')
    assert decrypt_json(encrypted) == {"text": "before"}
    anew = encryption.reencrypt(encrypted)
    assert anew is not None
    assert decrypt_json(anew) == {"text": "before"}
    assert encryption.reencrypt(anew) is None
