"""The record of secrets that staff decrypted, with reader and reason, which the account can see."""

from accounts.actors import Actor
from config.errors import Invalid
from managed.models import Credential, Decryption, KeyPair

MAX_REASON_LENGTH = 500
READ_MEANWHILE = "The secret was read after this page was opened. Enter the reason again to see the secret."
NO_KEY = "No encryption key can decrypt it. Was a key removed too early?"


def record(actor: Actor, secret: Credential | KeyPair, label: str, reason: str, seen: int | None) -> str:
    """Record that a staff actor decrypts `secret`, whose row is locked. Return the reason as it is stored.

    `seen` is the result of `newest` when the form asked for the reason, or None to skip this check. If the secret
    was decrypted since, `Invalid` is raised: a form that is sent twice shows its secret once.

    Raises `Invalid` on ``reason`` if it is empty or too long.
    """
    if not actor.is_staff:
        raise RuntimeError("only staff decrypt anything")
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= MAX_REASON_LENGTH:
        raise Invalid(f"A reason of 1-{MAX_REASON_LENGTH} characters is needed", "reason")
    if seen is not None and newest(secret) != seen:
        raise Invalid(READ_MEANWHILE)
    Decryption.objects.create(
        account_id=secret.account_id,
        credential=secret if isinstance(secret, Credential) else None,
        key_pair=secret if isinstance(secret, KeyPair) else None,
        label=label,
        username=actor.username,
        reason=reason,
    )
    return reason


def newest(secret: Credential | KeyPair) -> int:
    """Return the id of the secret's newest decryption, or 0."""
    return secret.decryptions.order_by("-pk").values_list("pk", flat=True).first() or 0
