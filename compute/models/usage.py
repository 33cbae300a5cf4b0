"""Usage: the time for which each resource existed, and the statement of each month."""

from django.db import models
from django.db.models import F, Q

from accounts.models import Account


class UsageKind(models.TextChoices):
    """The resource that an interval meters. `COMPUTE` is an instance, `COMPUTE_BACKUPS` its backup service."""

    COMPUTE = "compute", "instance"
    COMPUTE_BACKUPS = "compute_backups", "backup service of an instance"
    VOLUME = "volume", "volume"
    BACKUP = "backup", "backup"
    IMAGE = "image", "image"
    EXTRA_IPV4 = "extra_ipv4", "extra IPv4 addresses"
    IPV6_RANGE = "ipv6_range", "IPv6 range"
    NODEBALANCER = "nodebalancer", "load balancer"


class ResourcePrice(models.Model):
    """The price in USD of one unit of a kind, as the operator's catalogue file sets it. Without a row, it is 0.

    Units are GB of volumes, images and transfer, otherwise pieces. `monthly` is the most that one unit costs in a
    month; null is no such limit. Only transfer has a price `each`, for each GB beyond the pool. Instances and their
    backups have the prices of their types.
    """

    class Kind(models.TextChoices):
        VOLUME = "volume"
        IMAGE = "image"
        EXTRA_IPV4 = "extra_ipv4"
        IPV6_RANGE = "ipv6_range"
        NODEBALANCER = "nodebalancer"
        TRANSFER = "transfer"

    id = models.CharField("kind", primary_key=True, max_length=16, choices=Kind)
    hourly = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    monthly = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    each = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text="Of transfer: for each GB, whatever the time."
    )

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return str(self.get_id_display())


class UsageInterval(models.Model):
    """A time during which a resource was metered without a change. It outlives its resource.

    `quantity` is in GB for storage, otherwise in pieces. Prices are those of one unit at the beginning, in USD; no
    `price_monthly` is no limit for a month. `counts` is the resource's part of the account's counters
    (`ResourceUse`) while the interval is open. A resource has at most one open interval of each kind. The resource
    of extra IPv4 addresses is the account.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=UsageKind)
    resource = models.BigIntegerField(help_text="The resource's id. Of an image: its number.")
    label = models.CharField(max_length=255, blank=True, help_text="The resource's label at the beginning.")
    region = models.CharField(max_length=50, blank=True, help_text="The region's id.")
    type = models.CharField(max_length=50, blank=True, help_text="The instance type's id.")
    quantity = models.DecimalField(max_digits=14, decimal_places=4)
    price_hourly = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    price_monthly = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    counts = models.JSONField(default=dict)
    started = models.DateTimeField()
    ended = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=("kind", "resource"), condition=Q(ended=None), name="one_open_interval"),
            models.CheckConstraint(
                condition=Q(ended=None) | Q(ended__gte=F("started")), name="usage_interval_order"
            ),
        ]
        indexes = [
            models.Index(fields=("account", "ended", "started"), name="usage_interval_account"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource} from {self.started:%Y-%m-%d %H:%M}"


class UsageStatement(models.Model):
    """The usage of an account in a month that is over. It never changes.

    `lines` has one object for each resource, kind and price: see `compute.services.usage.reports.Line`.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="usage_statements", db_index=False)
    month = models.DateField(help_text="Its first day.")
    total = models.DecimalField(max_digits=14, decimal_places=2, help_text="USD.")
    lines = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)
    mailed = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-month", "account")
        constraints = [models.UniqueConstraint(fields=("account", "month"), name="one_statement_a_month")]

    def __str__(self) -> str:
        return f"{self.account} in {self.month:%Y-%m}"


class UsageSettings(models.Model):
    """The mails about usage that a customer chose. An account without a row has the defaults."""

    account = models.OneToOneField(
        Account, primary_key=True, on_delete=models.CASCADE, related_name="usage_settings"
    )
    mail_statements = models.BooleanField(default=False)
    threshold = models.DecimalField(
        max_digits=12, decimal_places=2, null=True, blank=True,
        help_text="USD. A month's amount above it is mailed once in the month; empty: never.",
    )  # fmt: skip
    warned_month = models.DateField(null=True, editable=False, help_text="The last month whose amount was mailed.")

    class Meta:
        ordering = ("account",)
        verbose_name = "usage settings"
        verbose_name_plural = "usage settings"

    def __str__(self) -> str:
        return f"usage settings of {self.account}"
