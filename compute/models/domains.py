"""DNS zones and their records."""

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


class DomainRecord(models.Model):
    """One resource record of a master zone. `name` is relative to the zone and "" for the zone itself.

    `service` and `protocol` of an SRV record are stored as the client sent them, with an underscore in front:
    ``_sip`` for ``sip``.
    """

    class Type(models.TextChoices):
        A = "A"
        AAAA = "AAAA"
        NS = "NS"
        MX = "MX"
        CNAME = "CNAME"
        TXT = "TXT"
        SRV = "SRV"
        PTR = "PTR"
        CAA = "CAA"

    class Tag(models.TextChoices):
        ISSUE = "issue"
        ISSUEWILD = "issuewild"
        IODEF = "iodef"

    domain = models.ForeignKey(Domain, on_delete=models.CASCADE, related_name="records")
    type = models.CharField(max_length=5, choices=Type)
    name = models.CharField(max_length=100, blank=True)
    target = models.TextField(blank=True)
    priority = models.PositiveSmallIntegerField(default=0)
    weight = models.PositiveIntegerField(default=0)
    port = models.PositiveIntegerField(default=0)
    service = models.CharField(max_length=64, null=True, blank=True)
    protocol = models.CharField(max_length=64, null=True, blank=True)
    ttl_sec = models.PositiveIntegerField(default=0)
    tag = models.CharField(max_length=9, choices=Tag, null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("domain", "id"), name="record_page")]

    def __str__(self) -> str:
        return f"{self.name or '@'} {self.type} {self.target}"
