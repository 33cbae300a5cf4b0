"""The quotas of an account: services, contacts and credentials."""

from accounts.actors import Actor
from accounts.services import quotas
from managed.models import Contact, Credential, Service

NAMES = {Service: "managed_services", Contact: "managed_contacts", Credential: "managed_credentials"}


def check_quota(actor: Actor, model: type[Service | Contact | Credential]) -> None:
    """Raise `Invalid` if the actor's account has used up its quota of `model`.

    Call it in the transaction that adds a row, before it locks anything: see `accounts.services.quotas`.
    """
    quotas.check_quota(actor, NAMES[model], model.objects.filter(account_id=actor.account_id))
