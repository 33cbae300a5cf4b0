"""Alarms: failures that the operator is notified of by mail or webhook."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Alarm(models.Model):
    """A failure, from the first check that found it until the first check that did not.

    Only `compute.services.alarms` writes rows. All times are on the database's clock.
    """

    subject = models.CharField(max_length=80, help_text="The name of the failed part: clock, worker, host hv2.")
    text = models.TextField(help_text="The problem, as of the last check.")
    began = models.DateTimeField(db_default=Now())
    notified = models.DateTimeField(
        null=True, blank=True, help_text="The time at which the operator was notified of the problem."
    )
    ended = models.DateTimeField(null=True, blank=True)
    end_notified = models.DateTimeField(
        null=True, blank=True, help_text="The time at which the operator was notified of the recovery."
    )
    error = models.TextField(blank=True, default="", help_text="The reason why the operator could not be notified.")

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=("subject",), condition=Q(ended=None), name="one_open_alarm"),
        ]

    def __str__(self) -> str:
        return self.subject
