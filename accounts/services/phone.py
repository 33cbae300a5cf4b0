"""A user's phone number, verified by a code in a short message."""

import secrets
from datetime import timedelta

import phonenumbers
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils.crypto import constant_time_compare
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import PhoneVerification, User
from accounts.services import attempts, outbox
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from config.display.plurals import counted
from config.encryption import decrypt_json, encrypt_json
from config.errors import Invalid, Problems

VALID_FOR = timedelta(minutes=10)
NO_GATEWAY = "accounts.sms.none"
"""The setting of an installation that sends no messages."""
MAX_GUESSES = 5
"""The number of attempts at a code, after which it is void."""
WRONG = "The code is not valid, or has expired."
NOTHING_SENT = "Phone numbers cannot be verified here: this installation sends no messages to phones."
VERIFIED_ALREADY = "Delete the verified phone number first."


def is_offered() -> bool:
    """Tell whether this installation sends messages to phones."""
    return bool(settings.SMS_GATEWAY != NO_GATEWAY)


def refusal(actor: Actor) -> str:
    """Return why no code can be sent to the actor now, whatever the number, or an empty text. At most one query."""
    if not is_offered():
        return NOTHING_SENT
    has_one = User.objects.filter(pk=actor.person, verified_phone_number__isnull=False).exists()
    return VERIFIED_ALREADY if has_one else ""


def number_to_verify(actor: Actor) -> str | None:
    """Return the number with an unexpired code, or None. One query."""
    return _sent_codes(actor).values_list("number", flat=True).first()


def send_code(
    actor: Actor, iso_code: str | None, phone_number: str | None, problems: Problems | None = None
) -> None:
    """Send a code of six digits to a number of the country `iso_code` (two letters).

    While a code for that number is valid, the same code is sent again, and its expiry stays. Raises `Invalid` on
    ``iso_code`` and ``phone_number`` and if the actor has a verified number already. Raises `TooMany` after too
    many messages.
    """
    problems = problems or Problems()
    number = _parse(iso_code, phone_number, problems)
    reason = refusal(actor)
    if reason and "phone_number" not in problems:
        problems.add("phone_number", reason)
    number = problems.checked(number)
    attempts.check("sms", f"user:{actor.person}")
    with transaction.atomic():
        user = User.objects.select_for_update(no_key=True).get(pk=actor.person)
        code, left = _code_for(user, number)
        outbox.text(number, f"{code} is your Skerry verification code. It is valid for {_in_words(left)}.")


def verify(actor: Actor, code: str | None, problems: Problems | None = None) -> None:
    """Make the phone number to which `code` was sent the actor's verified number.

    Raises `Invalid` on ``otp_code`` if the code is wrong, expired, or another user's. Raises `TooMany` after too
    many guesses, until the code expires or another one is sent. A code that is None failed a check before, which is
    in `problems`. It does not count as a guess.
    """
    code = (problems or Problems()).checked(code)
    mine = _sent_codes(actor)
    # Counted before the code is compared, so that concurrent guesses cannot bypass the limit.
    counted = mine.filter(attempts__lt=MAX_GUESSES).update(attempts=F("attempts") + 1)
    found = mine.first()
    if found is not None and not counted:
        raise attempts.too_many(MAX_GUESSES, (found.expiry - now()).total_seconds())
    if found is None or not constant_time_compare(decrypt_json(found.encrypted)["code"], code.strip()):
        raise Invalid(WRONG, "otp_code")
    with transaction.atomic():
        # The user's row is locked before the rows that belong to it, as by the user's deletion.
        user = User.objects.select_for_update(no_key=True).get(pk=actor.person)
        deleted, _ = PhoneVerification.objects.filter(pk=found.pk, number=found.number).delete()
        if not deleted:
            raise Invalid(WRONG, "otp_code")
        _set(actor, user, found.number, "The phone number was verified.")


@transaction.atomic
def forget(actor: Actor) -> None:
    """Delete the actor's verified number, and any code that was sent. Does nothing if there is neither."""
    if User.objects.filter(pk=actor.person, verified_phone_number__isnull=False).exists():
        user = User.objects.select_for_update(no_key=True).get(pk=actor.person)
        _set(actor, user, None, "The phone number was removed.")
    PhoneVerification.objects.filter(user_id=actor.person).delete()


def _sent_codes(actor: Actor) -> QuerySet[PhoneVerification]:
    """Return the actor's unexpired code, if any."""
    return PhoneVerification.objects.filter(user_id=actor.person, expiry__gt=Now())


def _set(actor: Actor, user: User, number: str | None, message: str) -> None:
    user.verified_phone_number = number
    user.save(update_fields=["verified_phone_number"])
    record_event(actor, "profile_update", profile_ref(user), message=message)


def _code_for(user: User, number: str) -> tuple[str, timedelta]:
    """Return the valid code for this number, or a new one, and the time until its expiry."""
    valid = PhoneVerification.objects.filter(
        user=user, number=number, expiry__gt=Now(), attempts__lt=MAX_GUESSES
    ).first()
    if valid is not None:
        return decrypt_json(valid.encrypted)["code"], valid.expiry - now()
    code = f"{secrets.randbelow(10**6):06}"
    values = {
        "number": number,
        "encrypted": encrypt_json({"code": code}),
        "attempts": 0,
        "expiry": now() + VALID_FOR,
    }
    PhoneVerification.objects.update_or_create(user=user, defaults=values)
    return code, VALID_FOR


def _in_words(left: timedelta) -> str:
    """Return ``9 minutes``: in whole minutes, and in the last two minutes in seconds. Never more than is left."""
    seconds = max(0, int(left.total_seconds()))
    return f"{seconds // 60} minutes" if seconds >= 120 else counted(seconds, "second")


def _parse(iso_code: str | None, phone_number: str | None, problems: Problems) -> str | None:
    """Return the number in its international form (E.164).

    Returns None with a problem of ``iso_code`` or ``phone_number``, or if one of them failed a check before: a
    number cannot be checked without its country.
    """
    if iso_code is None:
        return None
    country = iso_code.upper()
    if country not in phonenumbers.SUPPORTED_REGIONS:
        problems.add("iso_code", "iso_code is not valid")
        return None
    if phone_number is None:
        return None
    try:
        parsed = phonenumbers.parse(phone_number, country)
    except phonenumbers.NumberParseException:
        parsed = None
    if parsed is None or not phonenumbers.is_valid_number_for_region(parsed, country):
        problems.add("phone_number", "phone_number is not valid")
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
