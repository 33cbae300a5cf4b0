"""The page of a volume, and the forms that change or delete it."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django import forms
from django.utils.functional import SimpleLazyObject

from accounts.pages.live_pages import LiveObjectPage
from accounts.pages.objects import ObjectForm
from compute.pages.activity import events_about
from compute.pages.volumes.base import VolumeFormPage, VolumePage, rows_of
from compute.pages.volumes.choosing import ChoosingPage
from compute.pages.volumes.fields import label_field, price_of, size_field
from compute.serializers.volumes import VolumeResize, VolumeUpdate, changes_of, filesystem_path
from compute.services.volumes import volumes
from config.pages.forms import TagsField
from config.pages.navigation import NOUNS
from config.pages.views import JobMessage
from regions.countries import country_name


class VolumeView(VolumePage, LiveObjectPage):
    """``/home/volumes/<id>``: the facts of a volume, its path in the instance, and its events."""

    template_name = "compute/volume.html"
    part_template = "compute/volume_part.html"
    tab = "volume"
    gone = "This volume has been deleted, or you may not see it any more."

    def shown(self) -> dict[str, Any]:
        (row,) = rows_of(self.actor, [self.volume])
        return {
            "row": row,
            "path": filesystem_path(self.volume.label),
            "country": country_name(self.volume.region.country),
            "price": SimpleLazyObject(partial(price_of, self.volume.size)),
            **events_about(self.actor, "volume", self.volume.pk, self.request.GET.get("page")),
        }

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        return self.volume.updated, shown["row"].values, shown["events_seen"]


class EditForm(ObjectForm):
    body = VolumeUpdate
    partial = True
    blank = frozenset({"label", "tags"})
    label = label_field()
    tags = TagsField()


class EditVolumeView(VolumeFormPage):
    """``/home/volumes/<id>/edit``: the label and the tags. Restricted users may not change tags."""

    form_class = EditForm
    operations = frozenset({"volumes_update"})
    heading = "Edit {page.volume}"
    introduction = "The label is a part of the path in the instance. A new path is valid from the next boot on."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"label": self.volume.label, "tags": self.volume.tags}

    def perform(self, form: EditForm) -> str:
        changes, tags = changes_of(form.given)
        changed = volumes.update(self.actor, self.volume, changes, tags, form.given.problems)
        return f"The volume {changed} was saved."


class ResizeForm(ObjectForm):
    body = VolumeResize
    size = size_field()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["size"].label = "New size"
        self.fields["size"].help_text = f"GB, more than {self.object.size}, at most {volumes.MAX_SIZE}."


class ResizeVolumeView(ChoosingPage, VolumeFormPage):
    """``/home/volumes/<id>/resize``: a volume can only become larger."""

    form_class = ResizeForm
    action = "resize"
    operations = frozenset({"volumes_resize"})
    heading = "Resize {page.volume}"
    introduction = "The volume can stay attached, and cannot shrink again. Afterwards, grow its filesystem."
    verb = "Resize volume"

    def get_initial(self) -> dict[str, Any]:
        return {"size": self.volume.size}

    def perform(self, form: ResizeForm) -> str:
        volumes.resize(self.actor, self.volume, form.given.get("size"), form.given.problems)
        return JobMessage(f"The volume {self.volume} is being resized.")


class DeleteVolumeView(VolumeFormPage):
    """``/home/volumes/<id>/delete``."""

    form_class = forms.Form
    action = "delete"
    dangerous = True
    operations = frozenset({"volumes_destroy"})
    heading = "Delete {page.volume}"
    introduction = "Deletes the volume and all data on it. This cannot be undone."
    verb = "Delete volume"

    def perform(self, form: forms.Form) -> str:
        volumes.delete(self.actor, self.volume)
        return JobMessage(f"The volume {self.volume} is being deleted.")

    def get_success_url(self) -> str:
        return NOUNS[self.noun].address
