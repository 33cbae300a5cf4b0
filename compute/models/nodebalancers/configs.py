"""The configs of load balancers: a port, and how its traffic is distributed."""

from typing import Self

from django.db import models
from django.db.models import Q

from accounts.actors import Actor
from compute.models.nodebalancers.nodebalancers import NodeBalancer
from config.encryption import EncryptedField


class NodeBalancerConfigQuerySet(models.QuerySet["NodeBalancerConfig"]):
    """Configs that grants on their load balancer allow."""

    def visible_to(self, actor: Actor) -> Self:
        return self.filter(nodebalancer__in=NodeBalancer.objects.visible_to(actor).values("pk"))

    def writable_by(self, actor: Actor) -> Self:
        return self.filter(nodebalancer__in=NodeBalancer.objects.writable_by(actor).values("pk"))


class NodeBalancerConfig(models.Model):
    """A port of a load balancer, and how its traffic is distributed to the nodes.

    `encrypted` holds the private key of `ssl_cert`; both are set with the protocol https, and with no other.
    """

    class Protocol(models.TextChoices):
        HTTP = "http"
        HTTPS = "https"
        TCP = "tcp"

    class Algorithm(models.TextChoices):
        ROUNDROBIN = "roundrobin"
        LEASTCONN = "leastconn"
        SOURCE = "source"

    class Stickiness(models.TextChoices):
        NONE = "none"
        TABLE = "table"
        HTTP_COOKIE = "http_cookie"

    class Check(models.TextChoices):
        NONE = "none"
        CONNECTION = "connection"
        HTTP = "http"
        HTTP_BODY = "http_body"

    class ProxyProtocol(models.TextChoices):
        NONE = "none"
        V1 = "v1"
        V2 = "v2"

    class CipherSuite(models.TextChoices):
        RECOMMENDED = "recommended"
        LEGACY = "legacy"

    nodebalancer = models.ForeignKey(NodeBalancer, on_delete=models.CASCADE, related_name="configs")
    port = models.PositiveIntegerField(default=80)
    protocol = models.CharField(max_length=5, choices=Protocol, default=Protocol.HTTP)
    algorithm = models.CharField(max_length=10, choices=Algorithm, default=Algorithm.ROUNDROBIN)
    stickiness = models.CharField(max_length=11, choices=Stickiness, default=Stickiness.NONE)
    check_type = models.CharField("check", max_length=10, choices=Check, default=Check.NONE)
    check_interval = models.PositiveIntegerField(default=31, help_text="Seconds.")
    check_timeout = models.PositiveSmallIntegerField(default=30, help_text="Seconds.")
    check_attempts = models.PositiveSmallIntegerField(default=3)
    check_path = models.CharField(max_length=255, blank=True, default="")
    check_body = models.CharField(max_length=255, blank=True, default="")
    check_passive = models.BooleanField(default=True)
    proxy_protocol = models.CharField(max_length=4, choices=ProxyProtocol, default=ProxyProtocol.NONE)
    cipher_suite = models.CharField(max_length=11, choices=CipherSuite, default=CipherSuite.RECOMMENDED)
    ssl_cert = models.TextField(null=True, blank=True, help_text="The certificate and its chain, as PEM.")
    encrypted = EncryptedField(null=True, editable=False)
    ssl_commonname = models.CharField(max_length=255, blank=True, default="")
    ssl_fingerprint = models.CharField(max_length=95, blank=True, default="", help_text="SHA-256.")
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = NodeBalancerConfigQuerySet.as_manager()

    class Meta:
        verbose_name = "config of a load balancer"
        verbose_name_plural = "configs of load balancers"
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("nodebalancer", "port"),
                name="nodebalancer_port",
                violation_error_message="Port must be unique among the configs of a nodebalancer",
                violation_error_code="port",
            ),
            models.CheckConstraint(
                condition=Q(protocol="https", ssl_cert__isnull=False, encrypted__isnull=False)
                | ~Q(protocol="https") & Q(ssl_cert__isnull=True, encrypted__isnull=True),
                name="https_has_a_certificate",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.protocol} on port {self.port}"

    @property
    def watched(self) -> bool:
        """Tell whether the status of the nodes is monitored: by checks, or by the nodes' answers to clients."""
        return self.check_type != self.Check.NONE or self.check_passive
