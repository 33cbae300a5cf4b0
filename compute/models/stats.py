"""Usage of instances: samples, which the clock's tasks write and thin out, monthly transfer, and alerts."""

from django.db import models

from compute.models.instances import Instance


class Sample(models.Model):
    """The usage of an instance around one moment: over five minutes, or an hour or a day after thinning.

    `cpu` in percent, 100 for each core; `io` and `swap` in blocks a second; the network in bits a second.
    """

    class Span(models.IntegerChoices):
        FIVE_MINUTES = 300
        HOUR = 3600
        DAY = 86400

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="samples", db_index=False)
    span = models.IntegerField(choices=Span, default=Span.FIVE_MINUTES)
    at = models.DateTimeField()
    cpu = models.FloatField()
    io = models.FloatField()
    swap = models.FloatField()
    v4_in = models.FloatField()
    v4_out = models.FloatField()
    v4_private_in = models.FloatField()
    v4_private_out = models.FloatField()
    v6_in = models.FloatField()
    v6_out = models.FloatField()
    v6_private_in = models.FloatField()
    v6_private_out = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=("instance", "span", "at"), name="one_sample")]

    def __str__(self) -> str:
        return f"{self.instance_id} at {self.at:%Y-%m-%d %H:%M}"


class Meter(models.Model):
    """The driver's counters of an instance when they were last read; the next reading adds their growth.

    `bucket` is the five-minute interval of that reading, counted from 1970. Only one reading counts in each
    interval, however many workers read.
    """

    instance = models.OneToOneField(Instance, primary_key=True, on_delete=models.CASCADE, related_name="meter")
    bucket = models.BigIntegerField()
    at = models.DateTimeField()
    counters = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"meter of {self.instance_id}"


class Transfer(models.Model):
    """Bytes that an instance sent and received on the public network in one month (UTC).

    The row outlives its instance: an account's transfer includes that of deleted instances.
    """

    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE, related_name="+")
    instance = models.ForeignKey(Instance, null=True, on_delete=models.SET_NULL, related_name="transfers")
    month = models.DateField(help_text="The first day of the month.")
    sent = models.BigIntegerField(default=0)
    received = models.BigIntegerField(default=0)
    quota = models.PositiveIntegerField(
        default=0, help_text="GB that a deleted instance has added to the account's pool."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=("instance", "month"), name="one_transfer_a_month")]
        indexes = [models.Index(fields=("account", "month"), name="transfer_month")]

    def __str__(self) -> str:
        return f"{self.instance_id} in {self.month:%Y-%m}"


class Alert(models.Model):
    """A threshold that an instance's average over two hours exceeded. Open while `cleared` is null."""

    class Metric(models.TextChoices):
        CPU = "cpu"
        IO = "io"
        NETWORK_IN = "network_in"
        NETWORK_OUT = "network_out"
        TRANSFER_QUOTA = "transfer_quota"

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="raised_alerts")
    metric = models.CharField(max_length=16, choices=Metric)
    value = models.FloatField(help_text="The average at the time of the alert, in the unit of the threshold.")
    threshold = models.PositiveIntegerField()
    raised = models.DateTimeField(auto_now_add=True)
    cleared = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("instance", "metric"), condition=models.Q(cleared__isnull=True), name="one_open_alert"
            )
        ]

    def __str__(self) -> str:
        return f"{self.metric} of {self.instance_id}"
