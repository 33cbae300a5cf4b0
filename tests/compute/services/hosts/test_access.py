"""The platform's own key, and fingerprints of keys."""

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

from compute.models import PlatformKey
from compute.services.hosts import access

pytestmark = pytest.mark.django_db


def test_the_platform_has_one_key_which_is_stored_encrypted():
    key = access.platform_key()
    assert access.platform_key() == key
    assert PlatformKey.objects.count() == 1
    assert access.private_part(key).encode() not in bytes(key.encrypted)


def test_the_private_part_belongs_to_the_public_part():
    key = access.platform_key()
    loaded = load_ssh_private_key(access.private_part(key).encode(), None)
    public = loaded.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    assert key.public == f"{public} skerry"
    assert key.public.startswith("ssh-ed25519 ")


def test_a_fingerprint_is_that_of_ssh_keygen():
    public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f comment"
    assert access.fingerprint(public) == "SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA"


@pytest.mark.parametrize("text", ["", "ssh-ed25519", "ssh-ed25519 !!"])
def test_text_that_is_no_key_has_no_fingerprint(text):
    with pytest.raises(ValueError, match="not a public key"):
        access.fingerprint(text)
