"""The passwords with which users sign in."""

from django.db import transaction

from accounts.actors import Actor
from accounts.models import TrustedDevice, User
from accounts.services import external, outbox
from accounts.services.events import record_event
from accounts.services.refs import profile_ref
from config.errors import Invalid

CHANGED_MEANWHILE = "The password was changed meanwhile. Sign in with the new one."


@transaction.atomic
def set_password(user: User, password: str, kept_device: int | None = None) -> User:
    """Set the user's password, which the caller has checked against the rules. Return the updated user.

    Sessions end, since they contain a part of the old hash. Remembered browsers are forgotten, except the one with
    the id `kept_device`. The user's identity at a provider is forgotten too.

    Raises `Invalid` if the password has changed since `user` was read. Support or the user made this change
    meanwhile. A person who knows the old password, or has an address that was mailed for it, must not undo it.

    A mail tells the user, except for a first password, which the user has just chosen at a mailed address.
    """
    before = user.password
    user = User.objects.select_for_update().get(pk=user.pk)
    if user.password != before:
        raise Invalid(CHANGED_MEANWHILE)
    is_first = user.authentication_type == User.PASSWORD and not user.has_usable_password()
    user.set_password(password)
    user.save(update_fields=["password"])
    external.forget(user)
    devices = TrustedDevice.objects.filter(user=user)
    (devices if kept_device is None else devices.exclude(pk=kept_device)).delete()
    if user.account_id is not None:  # staff are on no account, so they have no events
        actor = Actor(user.account_id, user.pk, user.username, user.restricted)
        record_event(actor, "profile_update", profile_ref(user), message="A new password was set.")
    if not is_first:
        outbox.warn(user, "password_changed")
    return user
