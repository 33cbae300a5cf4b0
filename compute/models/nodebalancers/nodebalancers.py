"""Load balancers: the addresses that clients connect to."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from accounts.models import Account, GrantedQuerySet
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
