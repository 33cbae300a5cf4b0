"""Records the host that did not answer a call, and names instances for the log."""

from datetime import datetime

from django.db.models import TextField
from django.db.models.functions import Cast

from compute.drivers.base import Unreachable
from compute.models import Host, Instance
from compute.services.hosts import reachability


def host_of(error: Unreachable, instance_id: int | None) -> Host | None:
    """Return the host that did not answer a call for an instance: the one that the driver names, or else the
    instance's.

    None if there is no such host, for example if a driver names it wrongly.
    """
    if error.host is None:
        return Host.objects.filter(instances=instance_id).first() if instance_id is not None else None
    # compared as text: the name that a driver gives need not be a uuid
    return Host.objects.alias(name=Cast("uuid", TextField())).filter(name=error.host).first()


def record_unreachable(error: Unreachable, instance_id: int | None, asked: datetime) -> bool:
    """Record that a call for an instance, made at `asked` by the database's clock, was not answered.

    False if the host is unknown. The caller must then log the error. For a known host it is logged once, here.
    """
    host = host_of(error, instance_id)
    if host is None:
        return False
    reachability.record_unreachable(str(host.uuid), str(error), asked)
    return True


def name_of(instance_id: int | None) -> str:
    """Return an instance's name for the log: ``web-1 (12)``; one query. Only the id if the instance is gone."""
    if instance_id is None:
        return "no instance"
    label = Instance.objects.filter(pk=instance_id).values_list("label", flat=True).first()
    return f"({instance_id})" if label is None else f"{label} ({instance_id})"
