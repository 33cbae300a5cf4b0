"""Alarms: failures that the operator was notified of, and whether the notification succeeded."""

from django.contrib import admin
from django.utils.safestring import SafeString

from compute.models import Alarm
from config.admin.pages import ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import moment
from config.display.statuses import BAD, BUSY, GOOD, pill


@admin.register(Alarm)
class AlarmPage(ReadOnlyPage):
    """Alarms, the newest first."""

    task = Task.RECORDS
    list_display = ("subject", "state", "text", "began_at", "ended_at", "notified_at")
    search_fields = ("^subject", "text")
    search_help_text = "What fails, such as clock, worker, or host hv2."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("subject", "state", "text", "began_at", "ended_at", "notified_at", "error")

    @admin.display(description="State")
    def state(self, alarm: Alarm) -> SafeString:
        if alarm.error:
            return pill("notification failed", BAD)
        if alarm.ended:
            return pill("ended", GOOD)
        return pill("active", BAD) if alarm.notified else pill("not reported yet", BUSY)

    @admin.display(description="Began")
    def began_at(self, alarm: Alarm) -> SafeString:
        return moment(alarm.began)

    @admin.display(description="Ended")
    def ended_at(self, alarm: Alarm) -> SafeString:
        return moment(alarm.ended)

    @admin.display(description="Notified")
    def notified_at(self, alarm: Alarm) -> SafeString:
        return moment(alarm.notified)
