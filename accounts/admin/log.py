"""Django's log of staff's actions in the admin, read-only."""

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.utils.html import format_html

from config.admin.pages import ClosedFilter, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import NOTHING


@admin.register(LogEntry)
class LogEntryPage(ReadOnlyPage):
    task = Task.RECORDS
    list_display = ("action_time", "user", "content_type", "subject", "change_text")
    list_select_related = ("user", "content_type")
    list_filter = ("action_flag", ("content_type", ClosedFilter))
    search_fields = ("user__username", "object_id")
    search_help_text = "A staff username, or the id of an object."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("action_time", "user", "content_type", "subject", "change_text")

    @admin.display(description="Object")
    def subject(self, entry: LogEntry) -> str:
        address = None if entry.is_deletion() else entry.get_admin_url()
        return format_html('<a href="{}">{}</a>', address, entry.object_repr) if address else entry.object_repr

    @admin.display(description="Change")
    def change_text(self, entry: LogEntry) -> str:
        return entry.get_change_message() or NOTHING
