"""Heartbeats: signs of life of the processes of an installation."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now


class Heartbeat(models.Model):
    """One process of the installation, and when it last reported that it does its work.

    All times are on the database's clock. A process writes `seen` every few seconds, and `stopped` when it ends in
    order. A process that was killed stops writing. Only `compute.services.heartbeats` writes rows.
    """

    class Kind(models.TextChoices):
        WEB = "web"
        STREAM = "stream"
        WORKER = "worker"
        CLOCK = "clock"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=8, choices=Kind)
    hostname = models.CharField(max_length=255, help_text="The host name of the machine that the process runs on.")
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=32)
    queues = ArrayField(
        models.CharField(max_length=64),
        default=list,
        blank=True,
        help_text="The queues from which a worker takes tasks.",
    )
    slots = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="The number of tasks that a worker runs at the same time, one in each process of its pool.",
    )
    started = models.DateTimeField(db_default=Now())
    seen = models.DateTimeField(db_default=Now())
    stopped = models.DateTimeField(
        null=True, blank=True, help_text="The time at which the process stopped normally."
    )

    class Meta:
        ordering = ("-seen",)

    def __str__(self) -> str:
        return f"{self.kind} {self.pid} on {self.hostname}"
