"""The backups of an instance: enabling and cancelling them, their schedule, snapshots, and restoring one."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404
from django.urls import reverse

from compute.models import Backup, Instance
from compute.pages.base import ConfirmationPage, InstanceForm, InstanceFormPage
from compute.pages.choices import offer_rows
from compute.pages.parts import PartTab
from compute.serializers.backups import RestoreRequest, SnapshotRequest
from compute.serializers.instances import InstanceResource, changes_of
from compute.services.backups import backups
from compute.services.backups.restores import NOT_AVAILABLE, restore
from compute.services.backups.settings import NOT_OFFERED, SCHEDULING, is_offered
from compute.services.instances import instances
from config.display.quantities import price, size
from config.pages.forms import ChoiceField, FlagField, TextField
from config.pages.lists import Row, Verb
from config.pages.views import JobMessage

TAB = "instance-backups"
CHOSEN_BY_PLATFORM = "chosen by the platform"
DAYS = [
    (SCHEDULING.value, CHOSEN_BY_PLATFORM),
    *((day.value, day.label) for day in Instance.Day if day != SCHEDULING),
]
WINDOWS = [
    (Instance.Window.SCHEDULING.value, CHOSEN_BY_PLATFORM),
    *((f"W{hour}", f"{hour:02}:00 to {(hour + 2) % 24:02}:00 UTC") for hour in range(0, 24, 2)),
]
ROTATIONS = {"daily": "Daily", "weekly": "Weekly", "biweekly": "Every two weeks"}
STATUSES = {
    Backup.Status.PENDING: "waiting",
    Backup.Status.RUNNING: "in progress",
    Backup.Status.NEEDS_POST_PROCESSING: "in progress",
    Backup.Status.SUCCESSFUL: "successful",
}


class BackupsView(PartTab):
    """``/home/instances/<id>/backups``."""

    template_name = "compute/instance_part.html"
    part_template = "compute/backups.html"
    tab = TAB

    def shown(self, refusals: Mapping[str, str]) -> dict[str, Any]:
        plan = self.instance.type
        found = backups.listing(self.instance)
        newest_first = [*reversed(found.automatic)]
        snapshots = [each for each in (found.in_progress, found.current) if each is not None]
        return {
            "part_title": "Backups",
            "day": dict(DAYS).get(self.instance.backups_day or "", ""),
            "window": dict(WINDOWS).get(self.instance.backups_window or "", ""),
            "monthly": plan.backup_price_monthly,
            "not_offered": "" if is_offered(plan) else NOT_OFFERED,
            "rows": [Row(backup, self._verbs_of(backup)) for backup in (*snapshots, *newest_first)],
            "rotations": ROTATIONS,
            "statuses": STATUSES,
        }

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        yield self.instance.backups_enabled, shown["day"], shown["window"], self.instance.backups_last_successful
        for row in shown["rows"]:
            yield row.object.pk, row.object.status, row.object.finished

    def _verbs_of(self, backup: Backup) -> tuple[Verb, ...]:
        if not self.may_change:
            return ()
        address = reverse("instance-backup-restore", args=[self.instance.pk, backup.pk])
        verbs = [Verb("Restore", address, unavailable(backup))]
        if self.actor.may("add_computes"):
            new = f"{reverse('instance-new')}?backup={backup.pk}"
            verbs.append(Verb("New instance from this backup", new, unavailable(backup)))
        return tuple(verbs)


def unavailable(backup: Backup) -> str:
    """Why the backup cannot be restored now; empty if it can."""
    return "" if backup.status == Backup.Status.SUCCESSFUL else NOT_AVAILABLE


class EnableBackupsView(ConfirmationPage):
    """``/home/instances/<id>/backups/enable``."""

    tab = TAB
    dangerous = False
    operations = frozenset({"compute_instances_backups_enable"})
    heading = "Enable backups of {page.instance}"
    introduction = (
        "The instance is backed up each day, and you can take a snapshot at any time.{page.price_sentence}"
    )
    verb = "Enable backups"

    @property
    def price_sentence(self) -> str:
        cost = self.instance.type.backup_price_monthly
        return "" if cost is None else f" This costs {price(cost)} a month."

    def unavailable(self) -> str:
        return "" if is_offered(self.instance.type) else NOT_OFFERED

    def perform(self, form: forms.Form) -> str:
        backups.enable(self.actor, self.instance)
        return f"Backups of {self.instance} are enabled."


class CancelBackupsView(ConfirmationPage):
    """``/home/instances/<id>/backups/cancel``."""

    tab = TAB
    operations = frozenset({"compute_instances_backups_cancel"})
    heading = "Disable backups of {page.instance}"
    introduction = "All backups and the snapshot are deleted. This cannot be undone."
    verb = "Disable backups"

    def perform(self, form: forms.Form) -> str:
        backups.cancel(self.actor, self.instance)
        return f"Backups of {self.instance} are disabled."


class ScheduleForm(InstanceForm):
    body = InstanceResource
    partial = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["backups.schedule.window"] = ChoiceField(
            label="Time window", choices=WINDOWS, help_text="The daily backup starts in these two hours."
        )
        self.fields["backups.schedule.day"] = ChoiceField(
            label="Day of the weekly backup", choices=DAYS, help_text="The day in UTC."
        )


class BackupScheduleView(InstanceFormPage):
    """``/home/instances/<id>/backups/schedule``."""

    form_class = ScheduleForm
    tab = TAB
    operations = frozenset({"compute_instances_update"})
    heading = "Backup schedule"
    verb = "Save"

    def unavailable(self) -> str:
        return "" if self.instance.backups_enabled else backups.NOT_ENABLED

    def get_initial(self) -> dict[str, Any]:
        return {
            "backups.schedule.window": self.instance.backups_window,
            "backups.schedule.day": self.instance.backups_day,
        }

    def perform(self, form: ScheduleForm) -> str:
        instances.update(self.actor, self.instance, changes_of(form.given), form.given.problems)
        return "The backup schedule was saved."


class SnapshotForm(InstanceForm):
    body = SnapshotRequest
    blank = frozenset({"label"})
    label = TextField(label="Label")


class SnapshotView(InstanceFormPage):
    """``/home/instances/<id>/backups/snapshot``."""

    form_class = SnapshotForm
    tab = TAB
    kind = "snapshot"
    operations = frozenset({"compute_instances_backups_create"})
    heading = "Take a snapshot"
    introduction = (
        "When the snapshot is complete, it replaces the previous snapshot. The instance is busy until then."
    )
    verb = "Take snapshot"

    def unavailable(self) -> str:
        return super().unavailable() if self.instance.backups_enabled else backups.NOT_ENABLED

    def perform(self, form: SnapshotForm) -> str:
        made = backups.snapshot(self.actor, self.instance, form.given.get("label"), form.given.problems)
        return JobMessage(f"The snapshot {made} is being taken.")


class RestoreForm(InstanceForm):
    body = RestoreRequest
    compute_id = ChoiceField(label="Restore to", number=True)
    overwrite = FlagField(
        label="Delete all disks and profiles of the target instance first",
        help_text=(
            "This cannot be undone. The instance is shut down, and stays off. If you do not tick the box, the "
            "instance needs room for the disks of the backup."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        others = Instance.objects.writable_by(self.actor).filter(region=self.instance.region_id)
        rows = others.exclude(pk=self.instance.pk).only("label").order_by("label", "pk")
        here = (self.instance.pk, f"{self.instance} (this instance)")
        offer_rows(self, "compute_id", rows, lambda each: (each.pk, each.label), here)


class RestoreBackupView(InstanceFormPage):
    """``/home/instances/<id>/backups/<id>/restore``: to this instance or to another one of the region."""

    form_class = RestoreForm
    tab = TAB
    part_noun = "backup"
    operations = frozenset({"compute_instances_backups_restore"})
    heading = "Restore {page.backup}"
    introduction = "The disks of the backup take {page.size}."
    verb = "Restore"
    restored_to: int | None = None
    """The instance that the form restores to, once it was sent."""

    @cached_property
    def backup(self) -> Backup:
        found = self.instance.backups.filter(pk=self.kwargs["backup"]).first()
        if found is None:
            raise Http404
        return found

    @property
    def size(self) -> str:
        return size(self.backup.size)

    def unavailable(self) -> str:
        return unavailable(self.backup)

    def perform(self, form: RestoreForm) -> str:
        wanted = form.given.get("compute_id")
        job = restore(self.actor, self.backup, wanted, form.given.get("overwrite", False), form.given.problems)
        self.restored_to = job.instance_id
        return JobMessage(f"The backup is being restored to {job.instance}.")

    def get_success_url(self) -> str:
        """Return the page with the progress: this tab, or the page of the other instance."""
        if self.restored_to == self.instance.pk:
            return super().get_success_url()
        return reverse("instance", args=[self.restored_to])
