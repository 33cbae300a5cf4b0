"""Backups: the archives of instances, and why a backup failed."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import staff
from compute.models import Backup, Instance
from compute.services.backups import backups
from config.admin.pages import HostFilter, Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.admin.verbs import Verb
from config.display.statuses import status_pill

Status = Backup.Status
BACKUPS_SHOWN = 20


def delete(request: HttpRequest, backup: Backup) -> str:
    backups.delete(staff(request, backup.account_id), backup)
    return "deleted. Its data will be deleted in a moment."


def backups_panel(instance: Instance) -> Panel:
    """The instance's newest backups, on its page."""
    rows = Backup.objects.filter(instance=instance).order_by("-pk")[:BACKUPS_SHOWN]
    return Panel.of(
        "Backups",
        ("Backup", "Type", "Kept as", "Status", "Region", "Finished", "Message"),
        (
            (
                link(row), row.type, row.rotation, status_pill(row.status), row.region_id, moment(row.finished),
                row.message,
            )
            for row in rows
        ),
        more=list_of(Backup, instance__id__exact=instance.pk),
    )  # fmt: skip


@admin.register(Backup)
class BackupPage(ReadOnlyPage):
    """The archives of instances, and why a backup failed."""

    task = Task.MACHINES
    list_display = ("__str__", "instance_link", "type", "rotation", "state", "age", "finished")
    list_select_related = ("instance",)
    list_filter = ("type", "status", AccountFilter, "region", ("instance__host", HostFilter))
    link_filters = ("instance__id__exact", "account__id__exact")
    search_fields = ("=instance_id", "=account_id")
    search_help_text = "An instance's or account's id."
    ordering = ("-id",)
    sortable_by = ()
    verbs = (
        Verb(
            "delete", "Delete", delete, danger=True, permission="delete",
            offered=lambda backup: backup.status not in Backup.IN_PROGRESS,
            confirm="Deletes the backup and its data. This cannot be undone.",
        ),
    )  # fmt: skip
    fields = (
        "instance_link", "account", "region", "type", "rotation", "day", "state", "message", "label", "configs",
        "disks", "created", "updated", "finished",
    )  # fmt: skip

    @admin.display(description="Instance")
    def instance_link(self, backup: Backup) -> SafeString:
        return link(backup.instance)

    @admin.display(description="Status")
    def state(self, backup: Backup) -> SafeString:
        return status_pill(backup.status)
