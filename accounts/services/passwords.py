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
    """Set the user's password, which the caller has checked against the rules. Returns the updated user.

    Sessions end by themselves, since they hold a part of the old hash. Remembered browsers are forgotten, but for
    the one of the id `kept_device`, and so is the user's identity at a provider. Raises `Invalid` where the
    password has changed since `user` was read: a person who knew the old one, or holds a mailed address made for
    it, may not undo a change that support or the user made meanwhile.

    A mail tells the user, except of a first password, which the user chose at a mailed address just now.
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
