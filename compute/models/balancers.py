"""Load balancers, as far as an instance lists those that send traffic to it."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import Account, GrantedQuerySet
from compute.models.instances import Instance
from regions.models import Region


class NodeBalancerQuerySet(GrantedQuerySet):
    entity_type = "nodebalancer"


class NodeBalancer(models.Model):
    """A load balancer of a region. `client_conn_throttle` in connections a second per client, 0 is off."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="nodebalancers")
    label = models.CharField(max_length=32)
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="+")
    hostname = models.CharField(max_length=254)
    ipv4 = models.GenericIPAddressField(protocol="IPv4")
    ipv6 = models.GenericIPAddressField(protocol="IPv6", null=True, blank=True)
    client_conn_throttle = models.PositiveSmallIntegerField(default=0)
    tags = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = NodeBalancerQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                name="nodebalancer_label",
                violation_error_message="Label must be unique among your nodebalancers",
                violation_error_code="label",
            ),
        ]

    def __str__(self):
        return self.label


class NodeBalancerNode(models.Model):
    """A backend: a private address of an instance and a port."""

    nodebalancer = models.ForeignKey(NodeBalancer, on_delete=models.CASCADE, related_name="nodes")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="nodebalancer_nodes")
    label = models.CharField(max_length=32)
    address = models.CharField(max_length=21, help_text="Private address and port.")

    class Meta:
        ordering = ("id",)

    def __str__(self):
        return self.label
