"""The traffic of load balancers: samples, counters and monthly transfer."""

from django.db import models

from compute.models.nodebalancers.nodebalancers import NodeBalancer


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
    month = models.DateField(help_text="The first day of the month.")
    received = models.BigIntegerField(default=0)
    sent = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=("nodebalancer", "month"), name="one_balancer_transfer")]

    def __str__(self) -> str:
        return f"{self.nodebalancer_id} in {self.month:%Y-%m}"
