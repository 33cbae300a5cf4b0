"""The record of secrets that staff decrypted, with reader and reason, which the account can see."""

from accounts.actors import Actor
from config.errors import Invalid
from managed.models import Credential, Decryption, KeyPair

LONGEST_REASON = 500
AGAIN = "It was read since this was asked. Say again why, and it is shown once more."
NO_KEY = "None of the encryption keys opens it: was one taken away too early?"


def record(actor: Actor, secret: Credential | KeyPair, label: str, reason: str, seen: int | None) -> str:
    """Record that a staff actor decrypts `secret`, whose row is locked. Return the reason as it is stored.

    `seen` is the result of `newest` when the form asked for the reason, or None to skip this check. If the secret
    was decrypted since, `Invalid` is raised: a form that is sent twice shows its secret once.

    Raises `Invalid` on ``reason`` if it is empty or too long.
    """
    if not actor.is_staff:
        raise RuntimeError("only staff decrypt anything")
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= LONGEST_REASON:
        raise Invalid(f"A reason of 1-{LONGEST_REASON} characters is needed", "reason")
    if seen is not None and newest(secret) != seen:
        raise Invalid(AGAIN)
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
