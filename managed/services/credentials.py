"""Credentials that an account gives to staff. Staff decrypt them one by one, for a reason."""

from dataclasses import dataclass

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.services.events import record_event
from config.db.rows import lock, write
from config.db.unique import note_taken
from config.encryption import decrypt_json, encrypt_json
from config.errors import Invalid, Missing, Problems
from managed.models import Credential
from managed.services import decryptions
from managed.services.contacts import ACTION
from managed.services.quotas import check_quota
from managed.services.refs import credential_ref


@dataclass(frozen=True, slots=True)
class Secret:
    """Username and password of a credential. Never logged: the repr shows neither."""

    username: str
    password: str

    def __repr__(self) -> str:
        return "Secret(…)"


@transaction.atomic
def create(actor: Actor, label: str | None, secret: Secret, problems: Problems | None = None) -> Credential:
    """Store a credential, encrypted. Labels are unique on the account.

    Raises `Invalid` with every failing field, and without a field as `check_quota` does. A value that is None
    failed a check before.
    """
    credential = Credential(account_id=actor.account_id, label=label or "", encrypted=_encrypt(secret))
    if problems:
        note_taken(credential, problems)
        problems.raise_any()
    check_quota(actor, Credential)
    credential.save(force_insert=True)
    record_event(actor, ACTION, credential_ref(credential), message=f"The credential {label} was added.")
    return credential


@transaction.atomic
def rename(actor: Actor, credential: Credential, label: str) -> Credential:
    """Change the label, which is only for display, and return the changed credential.

    Raises `Missing` if it was revoked meanwhile. Differences are taken from the locked row, as for contacts.
    """
    locked = lock(Credential.objects.filter(pk=credential.pk))
    if locked.label != label:
        write(locked, {"label": label})
        record_event(actor, ACTION, credential_ref(locked), message=f"The credential {label} was renamed.")
    return locked


@transaction.atomic
def replace(actor: Actor, credential: Credential, password: str, username: str | None) -> None:
    """Replace the password, and the username if `username` is given.

    The row is locked: of two concurrent requests the second keeps the username that the first gave. Raises
    `Invalid` on ``username`` if none is given and no encryption key decrypts the stored one.
    """
    locked = lock(Credential.objects.filter(pk=credential.pk))
    locked.encrypted = _encrypt(Secret(_kept_username(locked) if username is None else username, password))
    locked.save(update_fields=["encrypted"])
    record_event(
        actor, ACTION, credential_ref(locked), message=f"The secret of the credential {locked.label} was replaced."
    )


@transaction.atomic
def revoke(actor: Actor, credential: Credential) -> None:
    """Delete a credential, for staff and services alike. Raises `Missing` if another request was first."""
    ref = credential_ref(credential)
    if not Credential.objects.filter(pk=credential.pk).delete()[0]:
        raise Missing
    record_event(actor, ACTION, ref, message=f"The credential {credential.label} was revoked.")


@transaction.atomic
def decrypt(actor: Actor, credential: Credential, reason: str, seen: int | None = None) -> Secret:
    """Return the credential's username and password, for a staff actor on the account.

    Sets `last_decrypted`, and records the reader, the reason, and an event that the account sees. All of it happens
    in the transaction that reads the secret. `seen` is as for `decryptions.record`. Raises `Invalid` as `record`
    does, and if no encryption key decrypts the secret. Raises `Missing` if the credential was revoked.
    """
    locked = lock(Credential.objects.filter(pk=credential.pk))
    reason = decryptions.record(actor, locked, locked.label, reason, seen)
    try:
        secret = _decrypt(locked)
    except InvalidToken as error:
        raise Invalid(decryptions.NO_KEY) from error
    locked.last_decrypted = now()
    locked.save(update_fields=["last_decrypted"])
    record_event(
        actor, ACTION, credential_ref(locked), message=f"Support read the credential {locked.label}: {reason}"
    )
    return secret


def _kept_username(credential: Credential) -> str:
    try:
        return _decrypt(credential).username
    except InvalidToken as error:
        raise Invalid("username is required: the one that was kept cannot be read any more", "username") from error


def _encrypt(secret: Secret) -> bytes:
    return encrypt_json({"username": secret.username, "password": secret.password})


def _decrypt(credential: Credential) -> Secret:
    return Secret(**decrypt_json(credential.encrypted))
