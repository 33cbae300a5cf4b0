"""The nodes of load balancers: the private addresses that a config sends traffic to."""

from django.db import models

from compute.models.instances import Instance
from compute.models.nodebalancers.configs import NodeBalancerConfig


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
