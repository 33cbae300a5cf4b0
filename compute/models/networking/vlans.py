"""VLANs: the private networks of an account."""

from typing import Self

from django.db import models
from django.db.models import Exists, Func, JSONField, OuterRef, TextField, Value
from django.db.models.functions import Cast, JSONObject

from accounts.actors import Actor
from accounts.models import Account
from compute.models.instances import Config, Instance
from regions.models import Region


def naming() -> models.QuerySet[Config]:
    """Return the account's profiles that name a VLAN, in any region; for `Exists` and the like in a query of
    VLANs."""
    interface = JSONObject(purpose=Cast(Value("vlan"), TextField()), label=OuterRef("label"))
    wanted = Func(interface, function="JSONB_BUILD_ARRAY", output_field=JSONField())
    return Config.objects.filter(instance__account=OuterRef("account"), interfaces__contains=wanted)


def naming_before(actor: Actor) -> models.QuerySet[Config]:
    """As `naming`, but only profiles in the VLAN's region, of instances that the actor can see."""
    here = naming().filter(instance__region=OuterRef("region"))
    return here.filter(instance__in=Instance.objects.visible_to(actor).values("pk")) if actor.restricted else here


class VLANQuerySet(models.QuerySet["VLAN"]):
    """VLANs that profiles name; restricted users see those of the instances they have grants on."""

    def visible_to(self, actor: Actor) -> Self:
        return self.filter(Exists(naming_before(actor)), account_id=actor.account_id)


class VLAN(models.Model):
    """A private network of an account in a region. A row is created when a profile first names the VLAN.

    An account has at most ten in each region. The interfaces of profiles decide which instances are on a VLAN.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="vlans")
    region = models.ForeignKey(Region, on_delete=models.PROTECT, related_name="+")
    label = models.CharField(max_length=64)
    created = models.DateTimeField(auto_now_add=True)

    objects = VLANQuerySet.as_manager()

    class Meta:
        verbose_name = "VLAN"
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=("account", "region", "label"), name="vlan_label")]

    def __str__(self) -> str:
        return self.label
