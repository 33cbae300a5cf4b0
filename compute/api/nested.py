"""What the resources within an instance have in common."""

from django.db.models import QuerySet

from accounts.actors import Actor
from compute.models import Instance
from config.api.paths import PathParameters


def its_instance(actor: Actor, path: PathParameters) -> QuerySet[Instance]:
    """The instance that the path names, if it exists for the actor: the `parent` of what is listed under it."""
    return Instance.objects.visible_to(actor).filter(pk=path["compute_id"])
