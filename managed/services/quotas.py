"""How much an account may have of what is watched, and of whom and what that needs."""

from django.conf import settings

from accounts.actors import Actor
from accounts.services.account import lock_account
from config.errors import Invalid
from managed.models import Contact, Credential, Service

SETTINGS = {Service: "MANAGED_SERVICES", Contact: "MANAGED_CONTACTS", Credential: "MANAGED_CREDENTIALS"}


def check_quota(actor: Actor, model: type[Service | Contact | Credential]) -> None:
    """Raise `Invalid` where the actor's account has as many as it may.

    To be called in the transaction that adds one, before it locks anything: the account stays locked, so that of
    two who add the last one the second counts the first's.
    """
    most = getattr(settings, SETTINGS[model])
    account = lock_account(actor.account_id)
    if model.objects.filter(account=account).count() >= most:
        many = model._meta.verbose_name_plural
        raise Invalid(f"An account has at most {most} managed {many}: ask support for more.")
