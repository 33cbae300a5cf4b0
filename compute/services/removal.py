"""Taking an instance's rows away, and giving back what it held."""

from accounts.services.grants import forget_entity
from compute.models import Instance
from compute.services.addresses import release_all
from tags.services import untag


def remove(instance: Instance) -> None:
    """Delete the instance with its disks and profiles; addresses go back to their pools, grants and tags go.

    Runs in the transaction that settles the job which made it true.
    """
    release_all(instance)
    forget_entity("compute", instance.pk)
    untag("compute", instance.pk)
    instance.delete()
