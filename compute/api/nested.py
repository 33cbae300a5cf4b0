"""What the resources within an instance have in common."""

from django.db.models import QuerySet

from compute.models import Instance


def its_instance(actor, path) -> QuerySet[Instance]:
    """The instance that the path names, if it exists for the actor: the `parent` of what is listed under it."""
    return Instance.objects.visible_to(actor).filter(pk=path["compute_id"])
