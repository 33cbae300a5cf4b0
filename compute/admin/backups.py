"""Backups, to be read."""

from django.contrib import admin

from compute.models import Backup
from config.admin.display import BAD, BUSY, GOOD, QUIET, link, pill
from config.admin.pages import ReadOnlyPage

Status = Backup.Status
TONES = {
    Status.SUCCESSFUL: GOOD, Status.FAILED: BAD, Status.PENDING: BUSY, Status.RUNNING: BUSY,
    Status.NEEDS_POST_PROCESSING: BUSY,
}  # fmt: skip


@admin.register(Backup)
class BackupPage(ReadOnlyPage):
    """What is kept of which instance, and why a backup failed."""

    list_display = ("__str__", "instance_link", "type", "rotation", "state", "created", "finished")
    list_select_related = ("instance",)
    list_filter = ("type", "status", "region")
    link_filters = ("instance__id__exact", "account__id__exact")
    search_fields = ("=instance_id", "=account_id")
    search_help_text = "An instance's or account's id."
    ordering = ("-id",)
    sortable_by = ()
    fields = (
        "instance_link", "account", "region", "type", "rotation", "state", "message", "label", "configs", "disks",
        "created", "updated", "finished",
    )  # fmt: skip

    @admin.display(description="Instance")
    def instance_link(self, backup: Backup):
        return link(backup.instance)

    @admin.display(description="Status")
    def state(self, backup: Backup):
        return pill(backup.status, TONES.get(backup.status, QUIET))  # type: ignore[call-overload]
