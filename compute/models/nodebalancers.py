"""Load balancers: an address, the ports it listens on, and the private addresses it sends traffic to."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from accounts.actors import Actor
from accounts.models import Account, GrantedQuerySet
from compute.models.instances import Instance
from config.encryption import EncryptedField
from regions.models import Region


class NodeBalancerQuerySet(GrantedQuerySet):
    entity_type = "nodebalancer"


class NodeBalancer(models.Model):
    """A load balancer of a region. `client_conn_throttle` is in connections per second per client; 0 is off.

    `version` grows with every change of the row, of its configs and of their nodes, in the same transaction and
    with this row locked. Exporters read only the version to find out whether anything changed. Reports of balancing
    hosts (`status`, samples) do not change the version.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="nodebalancers")
    label = models.CharField(max_length=32)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="+")
    hostname = models.CharField(max_length=254)
    ipv4 = models.GenericIPAddressField("IPv4", protocol="IPv4")
    ipv6 = models.GenericIPAddressField("IPv6", protocol="IPv6", null=True, blank=True)
    client_conn_throttle = models.PositiveSmallIntegerField(default=0)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    version = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = NodeBalancerQuerySet.as_manager()

    class Meta:
        verbose_name = "load balancer"
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                name="nodebalancer_label",
                violation_error_message="Label must be unique among your nodebalancers",
                violation_error_code="label",
            ),
        ]
        indexes = [
            models.Index(fields=("account", "id"), name="nodebalancer_page"),
            GinIndex(fields=("tags",), name="nodebalancer_tags"),
        ]

    def __str__(self) -> str:
        return self.label


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


class NodeBalancerNode(models.Model):
    """A backend of a config: a private address of an instance, and a port.

    `status` is the last one that the balancing host reported, ``Unknown`` if nodes are not monitored.
    """

    class Mode(models.TextChoices):
        ACCEPT = "accept"
        REJECT = "reject"
        DRAIN = "drain"
        BACKUP = "backup"

    class Status(models.TextChoices):
        UNKNOWN = "Unknown"
        UP = "UP"
        DOWN = "DOWN"

    config = models.ForeignKey(NodeBalancerConfig, on_delete=models.CASCADE, related_name="nodes")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="nodebalancer_nodes")
    label = models.CharField(max_length=32)
    address = models.CharField(max_length=21, help_text="Private address and port.")
    weight = models.PositiveSmallIntegerField(default=50)
    mode = models.CharField(max_length=6, choices=Mode, default=Mode.ACCEPT)
    status = models.CharField(max_length=7, choices=Status, default=Status.UNKNOWN)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("config", "address"),
                name="nodebalancer_node",
                violation_error_message="Address must be unique among the nodes of a config",
                violation_error_code="address",
            ),
        ]

    def __str__(self) -> str:
        return self.label


class NodeBalancerSample(models.Model):
    """The load of a load balancer over five minutes: `connections` a second, traffic in bits a second."""

    nodebalancer = models.ForeignKey(NodeBalancer, on_delete=models.CASCADE, related_name="samples", db_index=False)
    at = models.DateTimeField()
    connections = models.FloatField()
    traffic_in = models.FloatField()
    traffic_out = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=("nodebalancer", "at"), name="one_balancer_sample")]

    def __str__(self) -> str:
        return f"{self.nodebalancer_id} at {self.at:%Y-%m-%d %H:%M}"


class NodeBalancerMeter(models.Model):
    """The counters of a load balancer since its last sample, over all hosts that balance it."""

    nodebalancer = models.OneToOneField(
        NodeBalancer, primary_key=True, on_delete=models.CASCADE, related_name="meter"
    )
    since = models.DateTimeField()
    connections = models.BigIntegerField(default=0)
    received = models.BigIntegerField(default=0, help_text="Bytes.")
    sent = models.BigIntegerField(default=0, help_text="Bytes.")

    def __str__(self) -> str:
        return f"meter of {self.nodebalancer_id}"


class NodeBalancerTransfer(models.Model):
    """Bytes that a load balancer received from its clients and sent to them in one month (UTC)."""

    nodebalancer = models.ForeignKey(
        NodeBalancer, on_delete=models.CASCADE, related_name="transfers", db_index=False
    )
    month = models.DateField(help_text="Its first day.")
    received = models.BigIntegerField(default=0)
    sent = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("nodebalancer", "month"), name="one_balancer_transfer")]

    def __str__(self) -> str:
        return f"{self.nodebalancer_id} in {self.month:%Y-%m}"
