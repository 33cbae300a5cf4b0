"""The second factor: codes of an app (TOTP, RFC 6238), and a scratch code that works once."""

import hashlib
import secrets
import time
from datetime import datetime, timedelta

import pyotp
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import SecondFactor, SecurityKey, TrustedDevice, User
from accounts.services import attempts, outbox
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from accounts.services.security_questions import are_answered
from config.encryption import decrypt_json, encrypt_json
from config.errors import Invalid, Problems

STEP_SECONDS = 30
"""Seconds that a code is shown for."""
ACCEPTED_TIME_STEPS = (0, -1, 1)
"""Time steps around the current one whose codes are accepted, because clocks of phones may be wrong."""
SET_UP_WITHIN = timedelta(hours=24)
SCRATCH_BYTES = 10

WRONG_CODE = "Invalid token. Two-factor auth not enabled. Please try again."
NOTHING_BEGUN = "Ask for a secret with /profile/tfa-enable first."
QUESTIONS_FIRST = "Answer three security questions with /profile/security-questions first."


@transaction.atomic
def begin(actor: Actor) -> tuple[str, datetime]:
    """Make a secret for the actor's app. Nothing changes for its logins until `confirm`.

    Returns the secret in base32, which the API shows only this once, and its expiry. Raises `Invalid` if the three
    security questions are not answered.
    """
    if lacks_answers(actor):
        raise Invalid(QUESTIONS_FIRST)
    secret, until = pyotp.random_base32(), now() + SET_UP_WITHIN
    values = {"pending": encrypt_json({"secret": secret}), "pending_until": until}
    SecondFactor.objects.update_or_create(user_id=actor.person, defaults=values)
    return secret, until


def lacks_answers(actor: Actor) -> bool:
    """Tell whether the actor must first answer three security questions.

    Support asks them of customers who call. Users without an account need none.
    """
    return bool(actor.account_id) and not are_answered(actor)


def pending_secret(actor: Actor) -> str | None:
    """Return the secret that `begin` made, for the page that shows it until a code confirms it.

    None if there is none, or it is too old.
    """
    rows = SecondFactor.objects.filter(user_id=actor.person, pending__isnull=False, pending_until__gt=now())
    found = rows.first()
    return None if found is None else _secret(found.pending)


def confirm(actor: Actor, code: str | None, problems: Problems | None = None) -> str:
    """Turn the second factor on, with the secret that `begin` made and a code of the app that has it.

    Returns the scratch code. A mail tells the user. Raises `Invalid` on ``tfa_code`` if the code is wrong, and
    `TooMany` after too many attempts. A code that is None failed a check before, which is in `problems`. It is no
    attempt.
    """
    problems = problems or Problems()
    if code is None and pending_secret(actor) is None:
        problems.add(None, NOTHING_BEGUN)
    code = problems.checked(code)
    attempts.check("second_factor", f"user:{actor.person}")
    with transaction.atomic():
        # The user's row is locked before the rows that belong to it, as by the user's deletion.
        user = User.objects.select_for_update(no_key=True).get(pk=actor.person)
        locked = SecondFactor.objects.select_for_update().filter(user=user).first()
        if (
            locked is None
            or locked.pending is None
            or locked.pending_until is None
            or locked.pending_until <= now()
        ):
            raise Invalid(NOTHING_BEGUN)
        step = _step_of(_secret(locked.pending), code)
        if step is None:
            raise Invalid(WRONG_CODE, "tfa_code")
        scratch = secrets.token_hex(SCRATCH_BYTES)
        locked.encrypted, locked.pending, locked.pending_until = locked.pending, None, None
        locked.last_step, locked.scratch = step, _digest(scratch)
        locked.save()
        # Browsers that were remembered while a password was enough have shown no second factor.
        TrustedDevice.objects.filter(user_id=actor.person).delete()
        if not user.two_factor_auth:
            user.two_factor_auth = True
            user.save(update_fields=["two_factor_auth"])
        if user.account_id is not None:  # staff are on no account, so they have no events
            record_event(actor, "tfa_enabled", profile_ref(user))
        outbox.warn(user, "second_factor_on")
    return scratch


@transaction.atomic
def disable(actor: Actor | None, user: User, message: str = "") -> bool:
    """Delete the secret and the security keys: `user` signs in with the password alone from now on.

    Returns whether the second factor was on. If so, a mail tells the user. The event has the `message`. Without an
    actor, for users on no account, there is no event.
    """
    was_on = User.objects.filter(pk=user.pk, two_factor_auth=True).update(two_factor_auth=False)
    SecondFactor.objects.filter(user=user).delete()
    SecurityKey.objects.filter(user=user).delete()
    if not was_on:
        return False
    user.two_factor_auth = False
    if actor is not None:
        record_event(actor, "tfa_disabled", profile_ref(user), message=message)
    outbox.warn(user, "second_factor_off")
    return True


def accept(user: User, code: str) -> bool:
    """Tell whether `code` is an unused code of `user`'s app, or its scratch code, and use it up.

    Each works once: of two requests with one code, one is accepted.
    """
    locked = SecondFactor.objects.filter(user=user, encrypted__isnull=False).first()
    if locked is None:
        return False
    step = _step_of(_secret(locked.encrypted), code)
    mine = SecondFactor.objects.filter(user=user)
    if step is not None:
        return bool(mine.filter(last_step__lt=step).update(last_step=step))
    scratch = _digest(code.strip().lower())
    return bool(locked.scratch) and bool(mine.filter(scratch=scratch).update(scratch=""))


def mark(user: User) -> str | None:
    """Return the `mark_of` the current secret of `user`, or None if the second factor is off. One query."""
    rows = SecondFactor.objects.filter(user=user, user__two_factor_auth=True, encrypted__isnull=False)
    found = rows.first()
    return None if found is None else mark_of(_secret(found.encrypted))


def mark_of(secret: str) -> str:
    """Return the value by which sessions remember for which secret they have shown a code.

    The value does not reveal the secret, and does not change with the encryption keys.
    """
    return salted_hmac("accounts.second_factor.mark", secret, algorithm="sha256").hexdigest()


def _step_of(secret: str, code: str) -> int | None:
    """Return the time step of `code`, or None if it belongs to no accepted step."""
    totp, code = pyotp.TOTP(secret), code.replace(" ", "")
    steps = [int(time.time()) // STEP_SECONDS + drift for drift in ACCEPTED_TIME_STEPS]
    matching = [step for step in steps if constant_time_compare(totp.at(step * STEP_SECONDS), code)]
    return matching[0] if matching else None


def _secret(encrypted: bytes | memoryview | None) -> str:
    return decrypt_json(encrypted or b"")["secret"]


def _digest(scratch: str) -> str:
    return hashlib.sha256(scratch.encode()).hexdigest()
