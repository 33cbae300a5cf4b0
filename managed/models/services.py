"""Monitored services, their measurements, and their issues."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models import Account, Ticket
from managed.models.credentials import Credential
from managed.models.owned import OwnedQuerySet
from regions.models import Region


class Issue(models.Model):
    """An incident of an account: the services that failed in it, and its ticket. An account has at most one open
    issue.

    `services` are ids and not rows, since an issue outlives its services.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="managed_issues")
    ticket = models.OneToOneField(Ticket, on_delete=models.CASCADE, related_name="issue")
    services = ArrayField(models.BigIntegerField())
    created = models.DateTimeField(auto_now_add=True)
    closed = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet["Issue"].as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=("account",), condition=Q(closed=None), name="one_open_issue"),
        ]

    def __str__(self) -> str:
        return f"issue {self.pk}"


class Service(models.Model):
    """An address that is checked every `settings.PROBE_EVERY` seconds.

    `disable`, `enable` and the outcomes that the prober settles change `status`. The table is the prober's queue as
    well. A service is due when `next_check_at` has passed and no prober has a lease on it (`lease_until`). `fence`
    counts the claims, so that a prober which lost its lease writes nothing.
    """

    class Type(models.TextChoices):
        URL = "url"
        TCP = "tcp"

    class Status(models.TextChoices):
        DISABLED = "disabled"
        PENDING = "pending"
        OK = "ok"
        PROBLEM = "problem"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="managed_services")
    label = models.CharField(max_length=64)
    service_type = models.CharField(max_length=3, choices=Type)
    address = models.CharField(max_length=100)
    timeout = models.PositiveSmallIntegerField(help_text="Seconds.")
    body = models.CharField(max_length=100, null=True, blank=True, help_text="Text that the response must contain.")
    consultation_group = models.CharField(max_length=50, blank=True)
    notes = models.TextField(null=True, blank=True)
    region = models.ForeignKey(
        Region, null=True, blank=True, on_delete=models.PROTECT, related_name="+",
        help_text="The region of a private address.",
    )  # fmt: skip
    credentials = models.ManyToManyField(Credential, blank=True, related_name="services")
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    next_check_at = models.DateTimeField(
        db_default=Now(), help_text="The time of the next check, unless the service is disabled."
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    fence = models.PositiveIntegerField(default=0)
    checked_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveSmallIntegerField(default=0, help_text="The number of failed checks in a row.")
    error = models.TextField(blank=True, help_text="The problem that the last check found.")
    issue = models.ForeignKey(
        Issue, null=True, blank=True, on_delete=models.SET_NULL, related_name="failing",
        help_text="The open issue that includes the service.",
    )  # fmt: skip

    objects = OwnedQuerySet["Service"].as_manager()

    class Meta:
        ordering = ("id",)
        indexes = [
            models.Index(fields=("next_check_at",), condition=~Q(status="disabled"), name="service_due"),
            models.Index(fields=("account", "id"), name="service_page"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status="problem") | Q(issue=None), name="only_problems_have_an_issue"
            ),
        ]

    def __str__(self) -> str:
        return self.label


class Measurement(models.Model):
    """The results of a service's checks: of one check or, as an hourly average, of all checks of an hour."""

    class Span(models.IntegerChoices):
        CHECK = 0
        HOUR = 3600

    service = models.ForeignKey(Service, on_delete=models.CASCADE, related_name="measurements", db_index=False)
    span = models.IntegerField(choices=Span, default=Span.CHECK, help_text="Seconds.")
    at = models.DateTimeField()
    checks = models.PositiveIntegerField(default=1)
    failed = models.PositiveIntegerField(default=0, help_text="The number of failed checks.")
    milliseconds = models.FloatField(null=True, help_text="The average of the successful checks.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("service", "span", "at"), name="one_measurement"),
            models.CheckConstraint(condition=Q(failed__lte=models.F("checks")), name="measurement_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.service_id} at {self.at:%Y-%m-%d %H:%M}"
