"""The volumes of an instance: attaching, creating and detaching one."""

from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404

from compute.models import Volume
from compute.pages.base import ConfirmationPage, FormPage, InstanceForm
from compute.pages.choices import MOST_CHOICES
from compute.serializers.volumes import VolumeAttach, VolumeCreate, spec_of
from compute.services.volumes import attaching, volumes
from compute.services.volumes.places import Place
from config.errors import Invalid
from config.pages.forms import ChoiceField, FlagField, NumberField, TextField

TAB = "instance-storage"


class PlaceForm(InstanceForm):
    """A volume for this instance, and the profile that it goes into."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        profiles = self.instance.configs.filter(rescue=False).order_by("pk").values_list("pk", "label")
        self.offer("config_id", [("", "the one that boots next"), *profiles])

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "compute_id": self.instance.pk}


class AttachForm(PlaceForm):
    body = VolumeAttach
    volume = ChoiceField(label="Volume", number=True)
    config_id = ChoiceField(label="Configuration profile", number=True)
    persist_across_boots = FlagField(
        label="Keep the volume attached after the next boot",
        help_text="Without this, the volume is in no profile. That needs an instance that runs.",
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        free = Volume.objects.writable_by(self.actor).filter(region=self.instance.region_id, instance=None)
        rows = free.order_by("label").values_list("pk", "label", "size")[:MOST_CHOICES]
        volumes_shown = ((pk, f"{label}, {size} GB") for pk, label, size in rows)
        self.offer("volume", [("", "choose one"), *volumes_shown])

    def is_sent(self, name: str, value: Any) -> bool:
        return name != "volume" and super().is_sent(name, value)


class AttachVolumeView(FormPage):
    """``/home/instances/<id>/volumes/attach``: a volume of the region that is attached nowhere."""

    form_class = AttachForm
    tab = TAB
    kind = "volume_attach"
    renamed = {"compute_id": "volume"}
    initial = {"persist_across_boots": True}
    operations = frozenset({"volumes_attach"})
    heading = "Attach a volume"
    introduction = "You can attach free volumes of the region {page.instance.region_id}."
    verb = "Attach the volume"

    def perform(self, form: AttachForm) -> str:
        pk = form.cleaned_data["volume"]
        volume = Volume.objects.writable_by(self.actor).filter(pk=pk).first() if isinstance(pk, int) else None
        if volume is None:
            raise Invalid("Choose a volume.", "volume")
        attaching.attach(self.actor, volume, Place(**form.given), form.given.problems)
        return f"The volume {volume} is being attached."


class NewVolumeForm(PlaceForm):
    body = VolumeCreate
    blank = frozenset({"label"})
    label = TextField(label="Label", help_text="A letter, then letters, digits, - and _.")
    size = NumberField(label="Size", help_text="GB, 10 to 10240.")
    config_id = ChoiceField(label="Configuration profile", number=True)


class NewVolumeView(FormPage):
    """``/home/instances/<id>/volumes/new``: a new volume, attached to the instance."""

    form_class = NewVolumeForm
    tab = TAB
    initial = {"size": 20}
    operations = frozenset({"volumes_create"})
    grant = "add_volumes"
    heading = "Create a volume"
    introduction = "A volume is storage that outlives the instance. This one is attached to the instance."
    verb = "Create and attach"

    def perform(self, form: NewVolumeForm) -> str:
        made = volumes.create(self.actor, spec_of(form.given), form.given.problems)
        return f"The volume {made} is being created."


class DetachVolumeView(ConfirmationPage):
    """``/home/instances/<id>/volumes/<id>/detach``."""

    tab = TAB
    kind = "volume_detach"
    operations = frozenset({"volumes_detach"})
    heading = "Detach {page.volume}"
    introduction = "Unmount the volume in the instance first. The volume keeps its data."
    verb = "Detach the volume"

    @cached_property
    def volume(self) -> Volume:
        here = Volume.objects.visible_to(self.actor).filter(pk=self.kwargs["volume"], instance=self.instance)
        found = here.first()
        if found is None:
            raise Http404
        if not Volume.objects.writable_by(self.actor).filter(pk=found.pk).exists():
            raise PermissionDenied
        return found

    def perform(self, form: forms.Form) -> str:
        attaching.detach(self.actor, self.volume)
        return f"The volume {self.volume} is being detached."
