"""Clone page: copies an instance into a new one, or into an existing one."""

from typing import Any

from django.urls import reverse

from compute.models import Instance, InstanceType
from compute.pages.base import InstanceFormPage
from compute.pages.choices import offer_regions, offer_rows
from compute.serializers.clones import CloneRequest
from compute.services.common.regions import capability_of
from compute.services.hosts.free_capacity import full_regions
from compute.services.instances.availability import is_busy
from compute.services.instances.clones import CloneSpec, clone
from config import word
from config.display.quantities import price
from config.errors import Busy
from config.pages.forms import BodyForm, ChoiceField, FlagField, ListField, SelectWithReasons, TextField
from config.pages.views import JobMessage

FIELDS_OF_NEW = ("region", "type", "label", "group", "backups_enabled")
"""Fields that apply only to a clone into a new instance."""


class CloneForm(BodyForm):
    body = CloneRequest
    blank = frozenset({"configs", "disks"})

    compute_id = ChoiceField(
        label="Clone into",
        number=True,
        help_text="An existing instance keeps its disks, type, region and settings.",
    )
    label = TextField(
        label="Label of the new instance", max_length=64, help_text="Empty: the platform chooses one."
    )
    region = ChoiceField(label="Region of the new instance", widget=SelectWithReasons)
    type = ChoiceField(label="Type of the new instance")
    group = TextField(label="Group of the new instance", max_length=50)
    backups_enabled = FlagField(label="Enable backups of the new instance")
    configs = ListField(label="Configuration profiles", number=True, help_text="Their disks are copied too.")
    disks = ListField(label="Further disks", number=True)

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        if "compute_id" in body:
            body = {name: value for name, value in body.items() if name not in FIELDS_OF_NEW}
        return body


class CloneView(InstanceFormPage):
    """``/home/instances/<id>/clone``: for users who may create instances, and see this one."""

    operations = frozenset({"compute_instances_clone"})
    grant = "add_computes"
    changes = False
    form_class = CloneForm
    heading = "Clone {page.instance}"
    introduction = "Copies disks and configuration profiles. Switch the instance off first for a consistent copy."
    verb = "Clone"
    target: Instance

    def unavailable(self) -> str:
        instance = self.instance
        if instance.status == Instance.Status.CLONING:  # several clones may run at once
            return ""
        return str(Busy()) if instance.status not in Instance.SETTLED or is_busy(instance) else ""

    def get_form(self, form_class: Any = None) -> CloneForm:
        form: CloneForm = super().get_form(form_class)
        source = self.instance
        others = (
            Instance.objects.writable_by(self.actor).exclude(pk=source.pk).only("label").order_by("label", "pk")
        )
        offer_rows(form, "compute_id", others, lambda each: (each.pk, each.label), ("", "A new instance"))
        plans = InstanceType.objects.filter(deprecated=False).order_by("position", "pk")
        types = {each.pk: each for each in (source.type, *plans)}
        priced = [
            (pk, f"{word.on_wire(each.label)}, {price(each.price_monthly)} a month") for pk, each in types.items()
        ]
        form.offer("type", priced, source.type_id)
        full = full_regions(source, types)
        offer_regions(form, capability_of(source.type), full=full, initial=source.region_id)
        form.fields["group"].initial = source.group
        configs = list(source.configs.order_by("pk"))
        booted = [each.pk for each in configs if not each.rescue]
        form.offer("configs", [(each.pk, each.label) for each in configs], booted)
        form.offer("disks", [(each.pk, each.label) for each in source.disks.order_by("pk")])
        return form

    def perform(self, form: CloneForm) -> str:
        self.target = clone(self.actor, self.instance, CloneSpec(**form.given), form.given.problems)
        return JobMessage(f"{self.instance} is being cloned into {self.target}.")

    def get_success_url(self) -> str:
        return reverse("instance", args=[self.target.pk])
