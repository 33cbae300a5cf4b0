"""Making an image of a disk: an instance is chosen first, then one of its disks."""

from functools import cached_property
from typing import Any

from django import forms
from django.urls import reverse

from accounts.actors import Actor
from accounts.pages.objects import NewObjectForm, NewObjectPage
from accounts.pages.quotas import row_of
from accounts.services.quotas import resources_of
from compute.models import Disk, Image, Instance
from compute.pages.choices import first_rows
from compute.serializers.images import ImageCreate
from compute.services.images import images
from compute.services.instances.disks import NOT_READY
from config.display.integers import is_id
from config.display.quantities import size
from config.pages.forms import BodyForm, ChoiceField, SelectWithReasons, TextField
from config.pages.views import JobMessage


class ImageForm(BodyForm):
    """The fields of every image that is made of a disk."""

    body = ImageCreate
    label = TextField(label="Label", help_text="If empty, the label of the disk is used.")
    description = TextField(label="Description", widget=forms.Textarea(attrs={"rows": 3}))

    def create(self, actor: Actor) -> Image:
        given = self.given
        return images.create_from_disk(
            actor, given.get("disk_id"), label=given.get("label"), description=given.get("description"),
            problems=given.problems,
        )  # fmt: skip


class NewImageForm(ImageForm, NewObjectForm):
    field_order = ("disk_id", "label", "description")
    disk_id = ChoiceField(label="Disk", number=True, widget=SelectWithReasons)

    def __init__(self, *args: Any, instance: Instance | None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if instance is None:
            return
        disks = list(instance.disks.order_by("pk"))
        refusals = images.refusals_of_new(self.actor.account_id, [disk.size for disk in disks])
        found = {str(disk.pk): _refusal(disk, refusal) for disk, refusal in zip(disks, refusals, strict=True)}
        field: Any = self.fields["disk_id"]
        field.widget.reasons = found
        free = next((disk.pk for disk in disks if not found[str(disk.pk)]), None)
        self.offer("disk_id", [(disk.pk, f"{disk}, {size(disk.size)}") for disk in disks], free)


def _refusal(disk: Disk, refusal: str) -> str:
    return NOT_READY if disk.status == Disk.Status.DELETING else refusal


class NewImageView(NewObjectPage):
    """``/home/images/new?instance=…``: an image of a disk of an instance that the user may see."""

    template_name = "compute/image_new.html"
    form_class = NewImageForm
    noun = "images"
    operations = frozenset({"images_create"})
    grant = "add_images"
    heading = "Create an image from a disk"
    introduction = (
        "The image keeps the files of the disk. New disks can be deployed from it. "
        "For a consistent image, shut the instance down first."
    )
    verb = "Create image"
    made: Image | None = None

    @cached_property
    def offered(self) -> tuple[list[Instance], str]:
        """The instances to choose from, by label, and a sentence if there are more."""
        rows = Instance.objects.visible_to(self.actor).only("label").order_by("label", "pk")
        return first_rows(rows, [self.request.GET.get("instance", "")])

    @property
    def instances(self) -> list[Instance]:
        return self.offered[0]

    @cached_property
    def instance(self) -> Instance | None:
        """The instance of the address; without one, the only instance there is."""
        wanted = self.request.GET.get("instance", "")
        if is_id(wanted):
            return Instance.objects.visible_to(self.actor).filter(pk=int(wanted)).first()
        return self.instances[0] if len(self.instances) == 1 else None

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": self.instance}

    def perform(self, form: NewImageForm) -> str:
        self.made = form.create(self.actor)
        return JobMessage(f"The image {self.made} is being created.")

    def get_success_url(self) -> str:
        return reverse("image", args=[self.made.pk]) if self.made else super().get_success_url()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            instances=self.instances,
            more=self.offered[1],
            instance=self.instance,
            row=storage_of(self.actor),
            **kwargs,
        )


def storage_of(actor: Actor) -> Any:
    """Return the account's quota of storage for images, as ``components/quota.html`` shows it. One query."""
    return row_of(resources_of(actor.account_id), "image_storage")
