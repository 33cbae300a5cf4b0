"""The quotas of an account: services, contacts and credentials."""

from django.conf import settings

from accounts.actors import Actor
from accounts.services.account import lock_account
from config.errors import Invalid
from managed.models import Contact, Credential, Service

SETTINGS = {Service: "MANAGED_SERVICES", Contact: "MANAGED_CONTACTS", Credential: "MANAGED_CREDENTIALS"}


def check_quota(actor: Actor, model: type[Service | Contact | Credential]) -> None:
    """Raise `Invalid` where the actor's account has used up its quota of `model`.

    To be called in the transaction that adds a row, before it locks anything: the account stays locked, so that of
    two requests that add the last row the second counts the first one's.
    """
    most = getattr(settings, SETTINGS[model])
    account = lock_account(actor.account_id)
    if model.objects.filter(account=account).count() >= most:
        many = model._meta.verbose_name_plural
        raise Invalid(f"An account has at most {most} managed {many}: ask support for more.")
