"""Pages that resize an instance, and upgrade it from a deprecated type."""

from typing import Any

from compute.models import InstanceType
from compute.pages.base import InstanceFormPage
from compute.pages.choices import by_class
from compute.serializers.resize import MutateRequest, ResizeRequest
from compute.services.instances.resize import NO_UPGRADE, mutate, reasons_against, resize, upgrade_of
from config.pages.forms import BodyForm, ChoiceField, FlagField
from config.pages.views import JobMessage

AUTO_DISK_RESIZE = "allow_auto_disk_resize"
AUTO_LABEL = "Resize the disk to fill the type"
AUTO_HELP = "Only for an instance with one ext3 or ext4 disk and one swap disk."


class ResizeForm(BodyForm):
    body = ResizeRequest
    type = ChoiceField(label="Type")
    allow_auto_disk_resize = FlagField(label=AUTO_LABEL, initial=True, help_text=AUTO_HELP)


class UpgradeForm(BodyForm):
    body = MutateRequest
    allow_auto_disk_resize = FlagField(label=AUTO_LABEL, initial=True, help_text=AUTO_HELP)


class ResizeView(InstanceFormPage):
    """``/home/instances/<id>/resize``."""

    template_name = "compute/instance_resize.html"
    operations = frozenset({"compute_instances_resize"})
    kind = "resize"
    form_class = ResizeForm
    heading = "Resize {page.instance}"
    introduction = "A running instance is shut down for the resize, and booted again at the end."
    verb = "Resize"

    def perform(self, form: ResizeForm) -> str:
        given = form.given
        resize(self.actor, self.instance, given.get("type"), given.get(AUTO_DISK_RESIZE, True), given.problems)
        return JobMessage(f"{self.instance} is being resized.")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        plans = list(InstanceType.objects.filter(deprecated=False).order_by("position", "pk"))
        reasons = reasons_against(self.instance, plans)
        shown = self.request.POST.get("type") or self.instance.type_id
        rows: list[dict[str, Any]] = [{"plan": plan, "reason": reasons.get(plan.pk, "")} for plan in plans]
        groups = [
            {"name": name, "rows": found, "open": any(row["plan"].pk == shown for row in found)}
            for name, found in by_class(rows, lambda row: row["plan"])
        ]
        return super().get_context_data(groups=groups, **kwargs)


class UpgradeView(InstanceFormPage):
    """``/home/instances/<id>/upgrade``: for instances of a deprecated type that has a successor."""

    operations = frozenset({"compute_instances_mutate"})
    kind = "mutate"
    form_class = UpgradeForm
    heading = "Upgrade {page.instance}"
    introduction = "{page.result}"
    verb = "Upgrade"

    def perform(self, form: UpgradeForm) -> str:
        mutate(self.actor, self.instance, form.given.get(AUTO_DISK_RESIZE, True), form.given.problems)
        return JobMessage(f"{self.instance} is being upgraded.")

    @property
    def result(self) -> str:
        """A description of the upgrade; empty if there is none."""
        plan = upgrade_of(self.instance)
        if plan is None:
            return ""
        return (
            f"Changes the type from {self.instance.type} to {plan}. A running instance is shut down, and booted "
            "again at the end."
        )

    def unavailable(self) -> str:
        return super().unavailable() if upgrade_of(self.instance) else NO_UPGRADE
