"""The list of firewalls."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Lower
from django.urls import reverse

from accounts.pages.objects import ObjectListPage
from compute.filters.networking.firewalls import FirewallListFilterSet
from compute.models import Firewall, FirewallDevice, Instance
from config.pages.lists import Column, Verb


class FirewallsView(ObjectListPage):
    """``/home/firewalls``: the firewalls that the user may see."""

    model = Firewall
    noun = "firewalls"
    new = "firewall-new"
    add = "add_firewalls"
    template_name = "compute/firewalls.html"
    filterset_class = FirewallListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Status", "status"),
        Column("Rules"),
        Column("Instances"),
        Column("Tags"),
        Column("Created", "created"),
        Column("Actions"),
    )

    def get_queryset(self) -> QuerySet[Firewall]:
        seen = Instance.objects.visible_to(self.actor).values("pk")
        devices = FirewallDevice.objects.filter(firewall=OuterRef("pk"), instance__in=seen).order_by()
        number = Subquery(devices.values("firewall").annotate(number=Count("pk")).values("number"))
        return super().get_queryset().annotate(instances=Coalesce(number, 0))

    def verbs_of(self, found: Firewall) -> tuple[Verb, ...]:
        def verb(label: str, page: str, posted: bool = False) -> Verb:
            return Verb(label, reverse(f"firewall-{page}", args=[found.pk]), posted=posted)

        enabled = found.status == Firewall.Status.ENABLED
        return (
            verb("Edit inbound rules", "inbound"),
            verb("Edit outbound rules", "outbound"),
            verb("Attach to instance", "device-add"),
            verb("Disable", "disable") if enabled else verb("Enable", "enable", posted=True),
            verb("Edit label and tags", "edit"),
            verb("Delete", "delete"),
        )
