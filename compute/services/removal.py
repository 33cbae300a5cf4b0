"""Deleting the rows of an instance or an image, and releasing the resources of an instance."""

from django.db.models import Q
from django.utils.timezone import now

from accounts.services.grants import forget_entity
from compute.models import Image, Instance, IPv6Range, Job
from compute.services.backups import records
from compute.services.common.locks import lock_unread
from compute.services.hosts.placement import release
from compute.services.networking import vlans
from compute.services.networking.addresses import release_all
from compute.services.networking.firewalls import firewalls
from compute.services.stats import transfer
from compute.services.usage.recording import parts_of, record
from compute.services.volumes import attachments
from tags.services import untag


def remove(instance: Instance) -> None:
    """Delete the instance with its disks and profiles; release its addresses, ranges and capacity on its host.

    Its grants, tags and backups are deleted too; another job deletes the backups' archives. Its volumes stay,
    attached nowhere. Runs in the transaction that settles the job of the deletion, which has locked the jobs of the
    instance.
    """
    # One UPDATE of each job, with the host for staff: a second UPDATE would lock the rows that the job refers to
    # when the transaction commits, and the source of a clone is one of them.
    Job.objects.filter(instance=instance).update(instance=None, last_host=instance.host_id)
    Job.objects.filter(source=instance).update(source=None)
    # locked before its addresses, to wait for a request that is adding an address and has locked the row
    Instance.objects.filter(pk=instance.pk).select_for_update().first()
    parts = parts_of(instance)
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
    # the request of a deletion has ended its usage already: open intervals are those of an instance that failed
    record(instance.account_id, addresses=True, check=False, failed=True, **parts)


def remove_image(number: int) -> None:
    """Delete an account's own image with the grants on it. Instances and disks deployed from it then name no
    image."""
    # the deletion clears the image in their rows: locked in one order, as everywhere that several are locked
    owned = Instance.objects.filter(account__images__number=number)
    using = owned.filter(Q(image__number=number) | Q(disks__image__number=number)).values("pk")
    lock_unread(using)
    forget_entity("image", number)
    account_id = Image.objects.filter(number=number).values_list("account_id", flat=True).first()
    Image.objects.filter(number=number).delete()
    if account_id is not None:
        record(account_id, check=False, failed=True, images=[number])
