"""Taking an instance's rows away, and giving back what it held."""

from django.utils.timezone import now

from accounts.services.grants import forget_entity
from compute.models import Image, Instance, IPv6Range
from compute.services import keeping, transfer
from compute.services.addresses import release_all
from compute.services.placement import release
from tags.services import untag


def remove(instance: Instance) -> None:
    """Delete the instance with its disks and profiles; addresses, ranges and its room on a host are given back.

    Grants and tags go with it, and its backups, whose archives another job deletes. Runs in the transaction that
    settles the job which made it true.
    """
    # before its addresses: whoever is just giving it one holds the row, and is waited for
    Instance.objects.filter(pk=instance.pk).select_for_update().first()
    release_all(instance)
    keeping.discard_all(instance)
    IPv6Range.objects.filter(instance=instance).delete()
    forget_entity("compute", instance.pk)
    untag("compute", instance.pk)
    release(instance)
    transfer.leave(instance, now())
    instance.delete()


def remove_image(number: int) -> None:
    """Delete an account's own image with the grants on it. Instances and disks deployed from it name none then."""
    forget_entity("image", number)
    Image.objects.filter(number=number).delete()
