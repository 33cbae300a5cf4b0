"""The references by which events name the objects of this app."""

from accounts.models import Account
from accounts.services.events import EntityRef
from compute.models import Instance
from managed.models import Contact, Credential, Service


def service_ref(service: Service) -> EntityRef:
    return EntityRef("managed_service", service.pk, service.label, f"/v4/managed/services/{service.pk}")


def contact_ref(contact: Contact) -> EntityRef:
    return _of_account(contact.account_id, contact.name, f"contacts/{contact.pk}")


def credential_ref(credential: Credential) -> EntityRef:
    return _of_account(credential.account_id, credential.label, f"credentials/{credential.pk}")


def key_ref(account: Account) -> EntityRef:
    return _of_account(account.pk, str(account), "credentials/sshkey")


def settings_ref(instance: Instance) -> EntityRef:
    return EntityRef("compute", instance.pk, instance.label, f"/v4/managed/compute-settings/{instance.pk}")


def _of_account(account_id: int, label: str, path: str) -> EntityRef:
    """Return a reference of the account's kind: the contract's enum has no kind for these objects."""
    return EntityRef("account", account_id, label, f"/v4/managed/{path}")
