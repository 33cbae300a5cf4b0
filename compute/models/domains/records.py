"""Records of DNS zones."""

from django.db import models

from compute.models.domains.domains import Domain


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
