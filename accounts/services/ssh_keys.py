"""The SSH keys on a user's profile."""

from django.db import transaction

from accounts.actors import Actor
from accounts.models import SSHKey
from accounts.services import quotas
from accounts.services.events import record_event
from accounts.services.refs import ssh_key_ref
from accounts.ssh_keys import parse_public_key
from config.errors import Invalid, Missing


@transaction.atomic
def add(actor: Actor, ssh_key: str, label: str = "") -> SSHKey:
    """Add a public key to the actor's own profile.

    Raises `Invalid` on ``ssh_key`` if it is not valid, and without a field if the user has used up its quota.
    Without a label, the label is the comment in the key, cut to 64 characters.
    """
    try:
        parsed = parse_public_key(ssh_key)
    except ValueError as error:
        raise Invalid(str(error), "ssh_key") from error
    quotas.check_users_quota(actor.person, "ssh_keys", SSHKey.objects.filter(user_id=actor.person))
    key = SSHKey.objects.create(user_id=actor.person, ssh_key=ssh_key.strip(), label=label or parsed.comment[:64])
    record_event(actor, "user_ssh_key_add", ssh_key_ref(key))
    return key


@transaction.atomic
def rename(actor: Actor, key: SSHKey, label: str) -> None:
    """Change the label, the only changeable value of a key. Raises `Missing` if the key is gone."""
    if label == key.label:
        return
    if not SSHKey.objects.filter(pk=key.pk).update(label=label):
        raise Missing
    key.label = label
    record_event(actor, "user_ssh_key_update", ssh_key_ref(key))


@transaction.atomic
def remove(actor: Actor, key: SSHKey) -> None:
    """Delete the key. Instances that have it keep it. Raises `Missing` if another request was first."""
    ref = ssh_key_ref(key)
    deleted, _ = SSHKey.objects.filter(pk=key.pk).delete()
    if not deleted:
        raise Missing
    record_event(actor, "user_ssh_key_delete", ref)
