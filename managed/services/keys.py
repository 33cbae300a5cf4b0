"""The SSH key pair of an account, with which staff log in to its computes."""

from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.db import transaction

from accounts.actors import Actor
from accounts.services.account import lock_account
from accounts.services.events import record_event
from config.db.rows import lock
from config.encryption import decrypt_json, encrypt_json
from config.errors import Invalid
from managed.models import KeyPair
from managed.services import decryptions
from managed.services.contacts import ACTION
from managed.services.refs import key_ref

LABEL = "SSH key of managed"
"""The label of a key pair's decryptions."""


def public_key(actor: Actor) -> str:
    """Return the public key of the account's Ed25519 key pair. The first request creates the pair."""
    found = KeyPair.objects.filter(account_id=actor.account_id).values_list("public", flat=True).first()
    return found if found is not None else _make(actor)


@transaction.atomic
def decrypt(actor: Actor, pair: KeyPair, reason: str, seen: int | None = None) -> str:
    """Return the private key, as a file of OpenSSH, for a staff actor on the account.

    The reader, the reason, and an event that the account sees are recorded in the transaction that reads the key.
    `seen` is as for `decryptions.record`. Raises `Invalid` as `record` does, and if no encryption key fits.
    """
    locked = lock(KeyPair.objects.filter(pk=pair.pk))
    reason = decryptions.record(actor, locked, LABEL, reason, seen)
    try:
        private = decrypt_json(locked.encrypted)["private"]
    except InvalidToken as error:
        raise Invalid(decryptions.NO_KEY) from error
    record_event(
        actor, ACTION, key_ref(locked.account), message=f"Support read the private SSH key of managed: {reason}"
    )
    return private


@transaction.atomic
def _make(actor: Actor) -> str:
    """Make the pair if there is none, and return its public key. Of concurrent requests one makes it for all."""
    account = lock_account(actor.account_id)
    pair = KeyPair.objects.filter(account=account).first()
    if pair is None:
        private = Ed25519PrivateKey.generate()
        line = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        secret = private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        encrypted = encrypt_json({"private": secret})
        pair = KeyPair.objects.create(
            account=account, public=f"{line} managed@account-{account.pk}", encrypted=encrypted
        )
        record_event(actor, ACTION, key_ref(account), message="The SSH key of managed was created.")
    return pair.public
