"""Comparisons of hosts with the rows, as the reconciler makes them, and the drift that they find."""

from datetime import timedelta

from django.db.models.functions import Now

from accounts.actors import Actor
from compute.jobs.data import BootData
from compute.models import Drift, Host, Instance, Job
from compute.worker import reconciler
from tests.compute.memory_driver import MemoryDriver

Kind = Drift.Kind
STAFF = Actor(account_id=0, username="staff", is_staff=True)
STRANGER = "skerry-999999"
"""A machine that no row knows."""


def compare(driver: MemoryDriver, host: Host | None = None) -> int | None:
    """Compare one host, or each host, once."""
    found = None
    Instance.objects.update(updated=Now() - timedelta(days=1))
    for each in [host] if host else Host.objects.order_by("pk"):
        Host.objects.filter(pk=each.pk).update(reconcile_at=Now())
        found = reconciler.reconcile(each.pk, driver)
    return found


def seen(kind: str, driver: MemoryDriver, name: str) -> Drift:
    """Return the drift of this kind, after two comparisons. Checks that there is no other drift."""
    compare(driver)
    compare(driver)
    (found,) = Drift.objects.all()
    assert (found.kind, found.name, found.seen) == (kind, name, 2), found.detail
    return found


def unfinished() -> Job:
    return Job.objects.get(finished_at=None)


def is_over(drift: Drift, driver: MemoryDriver) -> None:
    compare(driver)
    drift.refresh_from_db()
    assert drift.resolved_at is not None, drift.detail


def boot_data(instance: Instance) -> BootData:
    return BootData(config_id=instance.configs.get().pk)
