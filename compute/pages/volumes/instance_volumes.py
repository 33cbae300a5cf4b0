"""The volumes of an instance: attaching, creating and detaching one on the instance's pages."""

from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404

from compute.models import Volume
from compute.pages.base import ConfirmationPage, InstanceForm, InstanceFormPage
from compute.pages.choices import offer_rows
from compute.pages.volumes.fields import (
    DEFAULT_SIZE,
    IS_ATTACHED,
    IS_CREATED,
    IS_DETACHED,
    UNMOUNT,
    label_field,
    profile_field,
    profiles_of,
    size_field,
    stays_field,
)
from compute.serializers.volumes import VolumeAttach, VolumeCreate, spec_of
from compute.services.volumes import attaching, volumes
from compute.services.volumes.places import Place
from config.errors import Invalid
from config.pages.forms import ChoiceField
from config.pages.views import JobMessage

TAB = "instance-storage"
NO_VOLUME = "You have no free volume in the region {} that you may change. Create a volume, or detach one first."


class PlaceForm(InstanceForm):
    """A volume for this instance, and the profile that it goes into."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer("config_id", profiles_of(self.instance))

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "compute_id": self.instance.pk}


class AttachForm(PlaceForm):
    body = VolumeAttach
    volume = ChoiceField(label="Volume", number=True)
    config_id = profile_field()
    persist_across_boots = stays_field()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        free = Volume.objects.writable_by(self.actor).filter(region=self.instance.region_id, instance=None)
        rows = free.only("label", "size").order_by("label", "pk")
        if not offer_rows(
            self, "volume", rows, lambda each: (each.pk, f"{each.label}, {each.size} GB"), ("", "choose one")
        ):
            self.reason = NO_VOLUME.format(self.instance.region_id)

    def is_sent(self, name: str, value: Any) -> bool:
        return name != "volume" and super().is_sent(name, value)


class AttachVolumeView(InstanceFormPage):
    """``/home/instances/<id>/volumes/attach``: a volume of the region that is attached nowhere."""

    form_class = AttachForm
    tab = TAB
    kind = "volume_attach"
    renamed = {"compute_id": "volume"}
    initial = {"persist_across_boots": True}
    operations = frozenset({"volumes_attach"})
    heading = "Attach a volume"
    introduction = "You can attach free volumes of the region {page.instance.region_id}."
    verb = "Attach volume"

    def perform(self, form: AttachForm) -> str:
        pk = form.cleaned_data["volume"]
        volume = Volume.objects.writable_by(self.actor).filter(pk=pk).first() if isinstance(pk, int) else None
        if volume is None:
            raise Invalid("Choose a volume.", "volume")
        attaching.attach(self.actor, volume, Place(**form.given), form.given.problems)
        return JobMessage(IS_ATTACHED.format(volume))


class NewVolumeForm(PlaceForm):
    body = VolumeCreate
    blank = frozenset({"label"})
    label = label_field()
    size = size_field()
    config_id = profile_field()


class NewVolumeView(InstanceFormPage):
    """``/home/instances/<id>/volumes/new``: a new volume, attached to the instance."""

    form_class = NewVolumeForm
    tab = TAB
    initial = {"size": DEFAULT_SIZE}
    operations = frozenset({"volumes_create"})
    grant = "add_volumes"
    heading = "Create a volume"
    introduction = (
        "A volume is storage that stays when the instance is deleted. The new volume is attached to the instance."
    )
    verb = "Create and attach"

    def perform(self, form: NewVolumeForm) -> str:
        return JobMessage(IS_CREATED.format(volumes.create(self.actor, spec_of(form.given), form.given.problems)))


class DetachVolumeView(ConfirmationPage):
    """``/home/instances/<id>/volumes/<id>/detach``."""

    tab = TAB
    part_noun = "attachment of the volume"
    part_needs_grant = True
    kind = "volume_detach"
    operations = frozenset({"volumes_detach"})
    heading = "Detach {page.volume}"
    introduction = UNMOUNT
    verb = "Detach volume"

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
        return JobMessage(IS_DETACHED.format(self.volume))
