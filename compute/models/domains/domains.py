"""DNS zones."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Account, GrantedQuerySet


class DomainQuerySet(GrantedQuerySet):
    entity_type = "domain"


class Domain(models.Model):
    """A zone that the platform's name servers serve: a master from its records, a slave from its masters.

    `label` is the domain name in lower case, which is unique on the platform. `spelling` is the name as its
    customer wrote it, if that differs. A time of 0 seconds is the platform's default. `serial` grows with each
    change of the served zone. `errors` says why a part of the customer's settings has no effect.
    """

    class Type(models.TextChoices):
        MASTER = "master"
        SLAVE = "slave"

    class Status(models.TextChoices):
        DISABLED = "disabled"
        ACTIVE = "active"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="domains")
    label = models.CharField("domain", max_length=255)
    spelling = models.CharField(max_length=255, blank=True, default="", db_default="")
    type = models.CharField(max_length=6, choices=Type)
    status = models.CharField(max_length=8, choices=Status, default=Status.ACTIVE)
    group = models.CharField(max_length=50, blank=True)
    description = models.CharField(max_length=255, blank=True)
    soa_email = models.CharField(max_length=254, blank=True)
    master_ips = ArrayField(models.GenericIPAddressField(), default=list, blank=True)
    axfr_ips = ArrayField(models.GenericIPAddressField(), default=list, blank=True)
    retry_sec = models.PositiveIntegerField(default=0)
    refresh_sec = models.PositiveIntegerField(default=0)
    expire_sec = models.PositiveIntegerField(default=0)
    ttl_sec = models.PositiveIntegerField(default=0)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    serial = models.PositiveBigIntegerField(default=0)
    errors = models.TextField(blank=True, default="", db_default="")
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = DomainQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("account", "id"), name="domain_page")]
        constraints = [
            models.UniqueConstraint(
                fields=("label",),
                name="domain_name",
                violation_error_message="This domain is in use already.",
                violation_error_code="domain",
            ),
            models.CheckConstraint(condition=Q(type="slave") | ~Q(soa_email=""), name="master_has_soa_email"),
            models.CheckConstraint(condition=Q(type="master") | Q(master_ips__len__gt=0), name="slave_has_masters"),
        ]

    def __str__(self) -> str:
        return self.label
