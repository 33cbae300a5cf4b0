"""The example instance of the demo account of ``make serve``."""

import secrets
from contextlib import suppress

from django.db import transaction
from django.db.models import F

from accounts.actors import Actor
from compute.models import Disk, Host
from compute.services.instances.instances import InstanceSpec, create
from config.errors import Invalid

LABEL = "example"
REGION = "us-east"
FREE_SPACE = 5000
"""MB of the type's disk that the instance's own disks leave free."""


def create_example(actor: Actor) -> None:
    """Create an instance on a simulated host, so that the forms of the API reference have one to work with.

    Nobody knows its root password. No instance is created if an operator's own catalogue lacks the region, the type
    or the image.
    """
    if not Host.objects.filter(region=REGION, driver="simulated").exists():
        return
    spec = InstanceSpec(
        label=LABEL, region=REGION, type="g6-nanode-1", image="compute/debian11", root_pass=secrets.token_urlsafe(),
        backups_enabled=True,
    )  # fmt: skip
    with suppress(Invalid), transaction.atomic():
        instance = create(actor, spec)
        # the worker makes the disk of this size, and the example of a second disk finds space
        instance.disks.exclude(filesystem=Disk.Filesystem.SWAP).update(size=F("size") - FREE_SPACE)
