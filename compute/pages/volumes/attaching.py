"""Attaching a volume to an instance, and detaching it."""

from typing import Any

from django import forms
from django.utils.html import format_html

from accounts.pages.objects import ObjectForm
from compute.models import Instance
from compute.pages.volumes.base import VolumeFormPage
from compute.pages.volumes.choosing import ChoosingPage, offer_instances
from compute.pages.volumes.fields import IS_ATTACHED, IS_DETACHED, UNMOUNT, profile_field, stays_field
from compute.serializers.volumes import VolumeAttach
from compute.services.volumes import attaching
from compute.services.volumes.places import Place
from config.pages.forms import ChoiceField
from config.pages.views import JobMessage


class AttachForm(ObjectForm):
    body = VolumeAttach
    compute_id = ChoiceField(label="Instance", number=True)
    config_id = profile_field()
    persist_across_boots = stays_field()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        region = self.object.region_id
        if not offer_instances(self, self.actor, region, "Choose an instance"):
            self.reason = (
                f"You have no instance in the region {region} that you may change. Create one there first."
            )


class AttachVolumeView(ChoosingPage, VolumeFormPage):
    """``/home/volumes/<id>/attach``: to an instance of the region."""

    form_class = AttachForm
    action = "attach"
    initial = {"persist_across_boots": True}
    operations = frozenset({"volumes_attach"})
    heading = "Attach {page.volume}"
    introduction = "You can attach the volume to your instances in the region {page.volume.region_id}."
    verb = "Attach volume"

    def unavailable(self) -> str:
        """Return the reason with the instance that has the volume, and a link to detach it for users who may."""
        instance = self.volume.instance
        if instance is None:
            return super().unavailable()
        if not Instance.objects.writable_by(self.actor).filter(pk=instance.pk).exists():
            seen = Instance.objects.visible_to(self.actor).filter(pk=instance.pk).exists()
            return f"The volume is attached to {instance if seen else 'an instance'}, which you may not change."
        return format_html(
            'The volume is attached to {}. <a class="alert-link" href="{}">Detach volume</a> first.',
            instance, self.address("volume-detach"),
        )  # fmt: skip

    def perform(self, form: AttachForm) -> str:
        attaching.attach(self.actor, self.volume, Place(**form.given), form.given.problems)
        return JobMessage(IS_ATTACHED.format(self.volume))


class DetachVolumeView(VolumeFormPage):
    """``/home/volumes/<id>/detach``."""

    form_class = forms.Form
    action = "detach"
    dangerous = True
    operations = frozenset({"volumes_detach"})
    heading = "Detach {page.volume}"
    introduction = UNMOUNT
    verb = "Detach volume"

    def perform(self, form: forms.Form) -> str:
        attaching.detach(self.actor, self.volume)
        return JobMessage(IS_DETACHED.format(self.volume))
