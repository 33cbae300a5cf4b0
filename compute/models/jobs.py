"""The jobs table: queue, outbox, program counter and lease in one. See docs/jobs.md."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models import Event
from compute.models.hosts import Host
from compute.models.instances import Instance
from config.encryption import EncryptedField

CLAIMABLE = Q(state__in=["active", "undoing"], ready=True, lease_until__isnull=True)
"""The jobs among which a worker chooses the one to claim."""


class Job(models.Model):
    """One piece of work on one instance, on a volume, on a volume of an instance, or on neither.

    The queue (`compute.jobs.queue`) inserts these rows, cancels and hastens jobs. Only the engine
    (`compute.worker.engine`) moves them on, always by a conditional UPDATE:

    - A worker holds a job while `lease_until` is ahead of the database's clock. Every result that it writes is
      conditional on the `fence` of its claim, so a worker that lost its lease changes nothing.
    - `step` names the step to run next, or, while ``undoing``, the step to undo next.
    - `step_began` is when the job came to that step, or began to undo it. `step_seconds` has the seconds that the
      job spent at each step it has left since, with all waiting and retries. Its keys are the step's name, or
      ``undo <name>``.
    - `attempt` counts claims since the last progress, so that a step which kills its worker is counted too.
    - `waits_for` is the host whose silence stopped the job. `compute.jobs.parking` says when the job goes on.
    - A job that is `ready` is due, and a worker may claim it. The sweep makes a job ready when its wait is over.
    - `notified_at` is set while a notification of a ready job waits in the broker.
    - `account_id` (0 for the platform), `bulk` and `claimed_at` decide which job is claimed next. `share_host` (0
      for no host) is the host whose share of the workers' slots the job takes. `share_slot` is its number in that
      share while it is at work.
    - A ``queued`` job waits for the instance's live job to end. An instance has at most one of each.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        ACTIVE = "active"
        UNDOING = "undoing"
        DONE = "done"
        FAILED = "failed"

    LIVE = (State.ACTIVE, State.UNDOING)
    """The states of jobs that workers work on. An instance has at most one job in these states."""

    instance = models.ForeignKey(
        Instance, null=True, on_delete=models.SET_NULL, related_name="jobs",
        help_text="Empty if the instance was deleted (the event still names it), and for jobs without an instance.",
    )  # fmt: skip
    last_host = models.ForeignKey(
        "compute.Host", null=True, editable=False, on_delete=models.SET_NULL, db_index=False, related_name="+",
        help_text="The host of a deleted instance. Empty while the instance exists.",
    )  # fmt: skip
    source = models.ForeignKey(
        Instance, null=True, on_delete=models.SET_NULL, related_name="clones",
        help_text="The instance that a clone job copies. Its status is `cloning` while such a job is live.",
    )  # fmt: skip
    volume = models.ForeignKey(
        "compute.Volume", null=True, on_delete=models.SET_NULL, related_name="jobs",
        help_text="The volume that the job changes. Empty if the volume was deleted, and while the job is queued.",
    )  # fmt: skip
    event = models.ForeignKey(
        Event, null=True, on_delete=models.SET_NULL, related_name="+",
        help_text="The event that shows the job's progress now. A job may have several events in a row.",
    )  # fmt: skip
    waits_for = models.ForeignKey(
        "compute.Host", null=True, editable=False, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False,
        related_name="+", help_text="The host that the job waits for. It may have been removed.",
    )  # fmt: skip
    kind = models.CharField(max_length=32)
    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    step = models.CharField(max_length=32)
    step_began = models.DateTimeField(db_default=Now(), editable=False)
    step_seconds = models.JSONField(default=dict, db_default={}, editable=False)
    data = models.JSONField(default=dict, help_text="Values for the steps. They never contain a secret.")
    encrypted = EncryptedField(null=True, help_text="Encrypted secrets, which are deleted when the job ends.")
    error = models.TextField(blank=True)
    cancelled = models.BooleanField(default=False)
    attempt = models.PositiveIntegerField(default=0)
    fence = models.PositiveIntegerField(default=0)
    account_id = models.BigIntegerField(db_default=0, editable=False)
    bulk = models.BooleanField(db_default=True, editable=False)
    share_host = models.BigIntegerField(db_default=0, editable=False)
    share_slot = models.PositiveSmallIntegerField(null=True, editable=False)
    created_by = models.CharField(max_length=32, blank=True, help_text="Username. Empty: the platform.")
    traceparent = models.CharField(
        max_length=55,
        null=True,
        editable=False,
        help_text="The parent span of the job in traces. Empty without tracing.",
    )
    created = models.DateTimeField(db_default=Now())
    run_at = models.DateTimeField(db_default=Now())
    ready = models.BooleanField(db_default=True, editable=False)
    notified_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    claimed_at = models.DateTimeField(null=True, editable=False)
    deadline_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    host: tuple[Any, ...] | None = None
    """The columns of the instance's host that make its address, and whether the host is recorded as not answering.
    `compute.jobs.store` sets them when it returns the job. None: they must be read."""
    named: Mapping[str, Any] = {}
    """The names of its instance, host and account for the log, set by the claim."""
    was_notified = True
    """Whether a notification of the job still waited in the broker when it was claimed."""
    overdue = False
    """Whether the deadline had passed when `compute.jobs.store` last returned this job."""

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["done", "failed"], finished_at__isnull=False)
                | Q(state__in=["queued", "active", "undoing"], finished_at__isnull=True),
                name="job_finished_at",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(encrypted__isnull=True), name="job_secrets_end_with_it"
            ),
            models.UniqueConstraint(
                fields=("instance",),
                condition=Q(state__in=["active", "undoing"]),
                name="one_live_job",
                violation_error_message="Compute busy.",
                violation_error_code=None,
            ),
            models.UniqueConstraint(
                fields=("volume",),
                condition=Q(state__in=["active", "undoing"]),
                name="one_live_volume_job",
                violation_error_message="Compute busy.",
                violation_error_code=None,
            ),
            models.UniqueConstraint(
                fields=("instance",),
                condition=Q(state="queued"),
                name="one_queued_job",
                violation_error_message="Compute busy.",
                violation_error_code=None,
            ),
            models.UniqueConstraint(
                fields=("share_host", "share_slot"), condition=Q(share_slot__isnull=False), name="one_job_per_slot"
            ),
        ]
        indexes = [
            models.Index(fields=("run_at",), condition=Q(state__in=["active", "undoing"]), name="job_due"),
            models.Index(fields=("last_host",), condition=Q(last_host__isnull=False), name="job_last_host"),
            models.Index(
                fields=("account_id", "bulk", "share_host", "run_at"), condition=CLAIMABLE, name="job_claimable"
            ),
            models.Index(
                fields=("run_at",), condition=CLAIMABLE & Q(notified_at__isnull=True), name="job_unnotified"
            ),
            models.Index(
                fields=("account_id", "claimed_at"), condition=Q(claimed_at__isnull=False), name="job_turns"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def instance_host(self) -> Host | None:
        """Return the host that its instance is on, or was on to its end; None for work on no instance."""
        return self.last_host if self.instance is None else self.instance.host
