"""Taking an instance's rows away, and giving back what it held."""

from django.db.models import Q
from django.utils.timezone import now

from accounts.services.grants import forget_entity
from compute.models import Image, Instance, IPv6Range
from compute.services.backups import records
from compute.services.common.locks import lock_unread
from compute.services.firewalls import firewalls
from compute.services.hosts.placement import release
from compute.services.networking import vlans
from compute.services.networking.addresses import release_all
from compute.services.stats import transfer
from compute.services.volumes import attachments
from tags.services import untag


def remove(instance: Instance) -> None:
    """Delete the instance with its disks and profiles; addresses, ranges and what its host reserves go back.

    Grants and tags go with it, and its backups, whose archives another job deletes. Its volumes stay, attached
    nowhere. Runs in the transaction that settles the job which made it true.
    """
    # before its addresses: whoever is just giving it one holds the row, and is waited for
    Instance.objects.filter(pk=instance.pk).select_for_update().first()
    release_all(instance)
    records.discard_all(instance)
    attachments.release_all(instance)
    firewalls.leave(instance)
    vlans.leave(instance)
    IPv6Range.objects.filter(instance=instance).delete()
    forget_entity("compute", instance.pk)
    untag("compute", instance.pk)
    release(instance)
    transfer.leave(instance, now())
    instance.delete()


def remove_image(number: int) -> None:
    """Delete an account's own image with the grants on it. Instances and disks deployed from it name none then."""
    # the deletion writes into their rows that they name it no more: locked in one order, as by all who lock several
    owned = Instance.objects.filter(account__images__number=number)
    using = owned.filter(Q(image__number=number) | Q(disks__image__number=number)).values("pk")
    lock_unread(using)
    forget_entity("image", number)
    Image.objects.filter(number=number).delete()
