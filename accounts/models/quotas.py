"""Trust levels, and what each account uses of the resources that cost money."""

from django.db import models

from accounts.models.accounts import Account


class TrustLevel(models.Model):
    """The limits of all accounts of a trust level, as the operator's catalogue file sets them.

    `limits` has numbers by names of `accounts.quotas.RESOURCE_QUOTAS`. A quota that is not named has no limit.
    """

    id = models.SlugField(primary_key=True, max_length=32)
    label = models.CharField(max_length=64)
    limits = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.label


class ResourceUse(models.Model):
    """The resources that an account uses now: counters that equal the sum of the open usage intervals' `counts`.

    `closed` repeats whether `Account.closed` is set: a transaction that adds a resource locks this row, so it sees
    that the account was closed meanwhile. Sizes are in MB, volumes in GB. `compute.services.usage` writes the row,
    last in each transaction that changes a resource. `difference` is what the last comparison with the resources'
    rows found, by counter.
    """

    account = models.OneToOneField(Account, primary_key=True, on_delete=models.CASCADE, related_name="resource_use")
    instances = models.BigIntegerField(default=0, db_default=0)
    vcpus = models.BigIntegerField(default=0, db_default=0)
    memory = models.BigIntegerField(default=0, db_default=0, help_text="MB.")
    gpus = models.BigIntegerField(default=0, db_default=0)
    disk = models.BigIntegerField(default=0, db_default=0, help_text="MB, of instances.")
    volumes = models.BigIntegerField(default=0, db_default=0)
    volume_storage = models.BigIntegerField(default=0, db_default=0, help_text="GB.")
    backup_storage = models.BigIntegerField(default=0, db_default=0, help_text="MB.")
    image_storage = models.BigIntegerField(default=0, db_default=0, help_text="MB.")
    total_ipv6_ranges = models.BigIntegerField("IPv6 ranges", default=0, db_default=0)
    total_nodebalancers = models.BigIntegerField("load balancers", default=0, db_default=0)
    extra_ipv4 = models.BigIntegerField("extra IPv4 addresses", default=0, db_default=0)
    closed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether a user has closed the account. It then gets no more resources.",
    )
    compared = models.DateTimeField(
        null=True, blank=True, help_text="When it was last compared with the resources."
    )
    difference = models.JSONField(default=dict, db_default={}, blank=True)

    class Meta:
        ordering = ("account",)
        verbose_name = "use of resources"
        verbose_name_plural = "use of resources"

    def __str__(self) -> str:
        return f"use of account {self.account_id}"
