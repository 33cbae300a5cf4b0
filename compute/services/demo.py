"""The example instance of the demo account of ``make serve``."""

import secrets
from contextlib import suppress

from accounts.actors import Actor
from compute.models import Host
from compute.services.instances.instances import InstanceSpec, create
from config.errors import Invalid

LABEL = "example"
REGION = "us-east"


def create_example(actor: Actor) -> None:
    """Create an instance on a simulated host, so that the forms of the API reference have one to work with.

    Nobody knows its root password. No instance is created if an operator's own catalogue lacks the region, the type
    or the image.
    """
    if not Host.objects.filter(region=REGION, driver="simulated").exists():
        return
    spec = InstanceSpec(
        label=LABEL, region=REGION, type="g6-nanode-1", image="compute/debian11", root_pass=secrets.token_urlsafe()
    )
    with suppress(Invalid):
        create(actor, spec)
