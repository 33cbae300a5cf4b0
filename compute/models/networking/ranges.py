"""IPv6 ranges, and the instances that share them."""

from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

from accounts.actors import Actor
from accounts.models import Account
from compute.models.instances import Instance
from compute.models.networking.addresses import AddressPool
from regions.models import Region


class IPv6RangeQuerySet(models.QuerySet["IPv6Range"]):
    """IPv6 ranges. Restricted users see the ranges of the instances they have grants on."""

    def visible_to(self, actor: Actor) -> Self:
        return self._within(actor, Instance.objects.visible_to(actor))

    def writable_by(self, actor: Actor) -> Self:
        return self._within(actor, Instance.objects.writable_by(actor))

    def _within(self, actor: Actor, instances: models.QuerySet[Instance]) -> Self:
        mine = self.filter(account_id=actor.account_id)
        return mine.filter(instance__in=instances.values("pk")) if actor.restricted else mine

    def shown_to(self, actor: Actor) -> Self:
        """Return the ranges of `visible_to`, and those that an instance shares which the actor may see.

        An actor may not change a range that is only shared: `writable_by` leaves it out.
        """
        mine = self.filter(account_id=actor.account_id)
        if not actor.restricted:
            return mine
        seen = Instance.objects.visible_to(actor).values("pk")
        shares = RangeShare.objects.filter(range=OuterRef("pk"), instance__in=seen)
        return mine.filter(Q(instance__in=seen) | Exists(shares))

    def for_api(self) -> Self:
        """Annotate the ranges with `is_shared`: whether any instance shares the range."""
        return self.annotate(is_shared=Exists(RangeShare.objects.filter(range=OuterRef("pk"))))


class IPv6Range(models.Model):
    """A network of IPv6 addresses given to an account: a routed range (/56, /64) or a pool (/116).

    Cut out of an address pool of the region. A range is routed to `route_target`, or to the SLAAC address of
    `instance`.
    """

    class Kind(models.TextChoices):
        RANGE = "range"
        POOL = "pool"

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="ipv6_ranges")
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="+")
    pool = models.ForeignKey(AddressPool, on_delete=models.PROTECT, related_name="ranges")
    kind = models.CharField(max_length=5, choices=Kind, default=Kind.RANGE)
    range = models.GenericIPAddressField(protocol="IPv6", help_text="The first address of the range.")
    prefix = models.PositiveSmallIntegerField()
    instance = models.ForeignKey(
        Instance, null=True, blank=True, on_delete=models.SET_NULL, related_name="ipv6_ranges"
    )
    route_target = models.GenericIPAddressField(protocol="IPv6", null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    objects = IPv6RangeQuerySet.as_manager()

    class Meta:
        verbose_name = "IPv6 range"
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("range",), name="ipv6_range")]

    def __str__(self) -> str:
        return f"{self.range}/{self.prefix}"


class RangeShare(models.Model):
    """An instance that shares an IPv6 range (IP failover). The range may also be routed to this instance."""

    range = models.ForeignKey(IPv6Range, on_delete=models.CASCADE, related_name="shares")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="range_shares")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("range", "instance"), name="one_range_share")]

    def __str__(self) -> str:
        return f"{self.range} with {self.instance_id}"
