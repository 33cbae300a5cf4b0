"""Creating a volume, and copying one."""

from typing import Any

from django.urls import reverse

from accounts.pages.objects import NewObjectForm, NewObjectPage, ObjectForm
from compute.models import Instance, Volume
from compute.pages.choices import offer_regions
from compute.pages.volumes.base import VolumeFormPage
from compute.pages.volumes.choosing import ChoosingPage, offer_instances
from compute.pages.volumes.fields import (
    DEFAULT_SIZE,
    IS_CREATED,
    label_field,
    price_of,
    profile_field,
    size_field,
)
from compute.serializers.volumes import VolumeClone, VolumeCreate, spec_of
from compute.services.volumes import volumes
from config.display.integers import is_id
from config.pages.forms import ChoiceField, SelectWithReasons, TagsField
from config.pages.views import JobMessage


class NewVolumeForm(NewObjectForm):
    body = VolumeCreate
    blank = frozenset({"label"})
    label = label_field()
    size = size_field()
    region = ChoiceField(label="Region", widget=SelectWithReasons)
    tags = TagsField()
    compute_id = ChoiceField(label="Attach to", number=True)
    config_id = profile_field()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        offer_regions(self, volumes.BLOCK_STORAGE, before=[("", "Choose a region")])
        offered = {pk for pk, _ in self.fields["region"].choices}  # type: ignore[attr-defined] # of a ChoiceField
        wanted = self["region"].value()
        region = wanted if wanted in offered else ""
        offer_instances(self, self.actor, region, "no instance" if region else "no instance: choose a region first")


class NewVolumeView(ChoosingPage, NewObjectPage):
    """``/home/volumes/new``. ``?compute_id=…`` or ``?region=…`` names a choice to begin with."""

    form_class = NewVolumeForm
    noun = "volumes"
    operations = frozenset({"volumes_create"})
    grant = "add_volumes"
    heading = "Create a volume"
    introduction = (
        "A volume is storage that is independent of instances. You can attach it to one instance of its region at "
        "a time."
    )
    verb = "Create volume"
    made: Volume

    def get_initial(self) -> dict[str, Any]:
        given = self.request.GET
        compute_id, region = given.get("compute_id", ""), given.get("region", "")
        if is_id(compute_id):
            seen = Instance.objects.visible_to(self.actor).filter(pk=compute_id)
            region = seen.values_list("region_id", flat=True).first() or region
        return {"size": DEFAULT_SIZE, "region": region, "compute_id": compute_id}

    def perform(self, form: NewVolumeForm) -> str:
        self.made = volumes.create(self.actor, spec_of(form.given), form.given.problems)
        return JobMessage(IS_CREATED.format(self.made))

    def get_success_url(self) -> str:
        return reverse("volume", args=[self.made.pk])


class CloneForm(ObjectForm):
    body = VolumeClone
    blank = frozenset({"label"})
    label = label_field()


class CloneVolumeView(VolumeFormPage):
    """``/home/volumes/<id>/clone``: for users who may create volumes, and see this one."""

    form_class = CloneForm
    action = "clone"
    operations = frozenset({"volumes_clone"})
    grant = "add_volumes"
    changes = False
    heading = "Clone {page.volume}"
    introduction = (
        "Copies the volume into a new one of {page.volume.size} GB in the same region.{page.price_sentence} "
        "For a consistent copy, unmount the volume in its instance first."
    )
    verb = "Clone volume"
    made: Volume

    @property
    def price_sentence(self) -> str:
        cost = price_of(self.volume.size)
        return f" The copy costs {cost}." if cost else ""

    def perform(self, form: CloneForm) -> str:
        self.made = volumes.clone(self.actor, self.volume, form.given.get("label"), form.given.problems)
        return JobMessage(f"{self.volume} is being cloned into {self.made}.")

    def get_success_url(self) -> str:
        return reverse("volume", args=[self.made.pk])
