"""Move page: moves an instance to another region, or to another host if the platform has scheduled it."""

from functools import cached_property
from typing import Any

from compute.models import HostMigration
from compute.pages.base import InstanceFormPage
from compute.pages.choices import offer_regions
from compute.serializers.moves import MigrateRequest
from compute.services.common.regions import capability_of
from compute.services.hosts.free_capacity import full_regions
from compute.services.hosts.moves import HERE_ALREADY, migrate
from compute.services.instances.resize import upgrade_of
from config.pages.forms import BodyForm, ChoiceField, FlagField, SelectWithReasons
from config.pages.views import JobMessage


class MigrateForm(BodyForm):
    body = MigrateRequest
    region = ChoiceField(label="Move to", widget=SelectWithReasons)
    upgrade = FlagField(label="Upgrade the type as well")


class MigrateView(InstanceFormPage):
    """``/home/instances/<id>/migrate``."""

    template_name = "compute/instance_move.html"
    operations = frozenset({"compute_instances_migrate"})
    kind = "migrate_region"
    form_class = MigrateForm
    heading = "Move {page.instance}"
    introduction = (
        "Moves the instance to another region, with its disks and configuration profiles. It gets new addresses "
        "there, and loses its current addresses, their reverse names and its IPv6 ranges. A running instance is "
        "shut down, and booted again at the end."
    )
    verb = "Move"

    @cached_property
    def scheduled(self) -> HostMigration | None:
        """The move to another host that is scheduled for the instance."""
        rows = HostMigration.objects.filter(instance=self.instance, status=HostMigration.Status.PENDING)
        return rows.first()

    def get_form(self, form_class: Any = None) -> MigrateForm:
        form: MigrateForm = super().get_form(form_class)
        upgrade = upgrade_of(self.instance)
        types = [each.pk for each in (self.instance.type, upgrade) if each]
        first = "Another host of this region, now" if self.scheduled else "Choose a region"
        here = {self.instance.region_id: HERE_ALREADY}
        full = full_regions(self.instance, types)
        offer_regions(form, capability_of(self.instance.type), before=[("", first)], full=full, reasons=here)
        if upgrade is None:
            del form.fields["upgrade"]
        return form

    def perform(self, form: MigrateForm) -> str:
        given = form.given
        migrate(self.actor, self.instance, given.get("region"), given.get("upgrade", False), given.problems)
        return JobMessage(f"{self.instance} is being moved.")
