"""The disks of an instance: creating, changing, copying and deleting one, and making an image of it."""

from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404

from accounts.pages.confirm import Confirmed
from compute.models import Disk, Instance
from compute.pages.base import ConfirmationPage, InstanceForm, InstanceFormPage, InstancePage
from compute.pages.deploy import DeployForm, DeployPage
from compute.pages.images.from_disk import ImageForm
from compute.pages.root_passwords import root_password_field
from compute.serializers.disks import DiskCreate, DiskPassword, DiskResize, DiskResource, spec_fields
from compute.services.common.disk_space import left
from compute.services.images import images
from compute.services.instances import disks, root_passwords
from config.pages.forms import ChoiceField, NumberField, TextField
from config.pages.views import JobMessage

FILESYSTEMS = (
    ("ext4", "ext4"),
    ("ext3", "ext3"),
    ("swap", "swap"),
    ("raw", "raw: any content, the platform does not read it"),
    ("initrd", "initrd: a first root file system, for kernels"),
)
TAB = "instance-storage"


def space_left(instance: Instance, size: int = 0) -> str:
    """A sentence about the space for disks, and the size that a disk of `size` MB can have."""
    there = left(instance)
    most = f" The disk can have {size + there} MB at most." if size else ""
    return f"MB. {there} MB of the type's {instance.type.disk} MB are left.{most}"


# --- creating -------------------------------------------------------------------------------------------


class DiskForm(DeployForm):
    body = DiskCreate
    field_order = ("label", "size", "image", "filesystem", "root_pass")
    no_image = "none"
    label = TextField(
        label="Label", help_text="If empty, the platform chooses a label.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    size = NumberField(label="Size")
    image = ChoiceField(label="Image", help_text="Without an image the disk is empty.")
    filesystem = ChoiceField(
        label="Filesystem", choices=[("", "ext4, the default"), *FILESYSTEMS[1:]],
        help_text="A disk that is deployed from an image has ext4.",
    )  # fmt: skip
    root_pass = root_password_field("Needed with an image: 7 to 128 characters.")
    generate = None  # type: ignore[assignment] # how Django drops a field of the base

    def __init__(self, *args: Any, instance: Instance, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["size"].help_text = space_left(instance)


class NewDiskView(DeployPage):
    """``/home/instances/<id>/disks/new?script=…``: an empty disk, or one that an image is deployed to."""

    form_class = DiskForm
    tab = TAB
    kind = "disk_create"
    operations = frozenset({"compute_instances_disks_create"})
    heading = "Create a disk"
    introduction = "To use the disk, add it to a configuration profile afterwards."
    verb = "Create disk"

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": self.instance}

    def perform(self, form: DiskForm) -> str:
        spec = disks.DiskSpec(**spec_fields(form.given))
        made = disks.create(self.actor, self.instance, spec, form.given.problems)
        return JobMessage(f"The disk {made} is being created.")


# --- one disk -------------------------------------------------------------------------------------------


class DiskPage(InstancePage):
    """A page about one disk of the instance; others are answered 404."""

    tab = TAB
    part_noun = "disk"

    @cached_property
    def disk(self) -> Disk:
        found = self.instance.disks.filter(pk=self.kwargs["disk"]).first()
        if found is None:
            raise Http404
        return found


class EditDiskForm(InstanceForm):
    body = DiskResource
    partial = True
    blank = frozenset({"label"})
    label = TextField(label="Label")
    filesystem = ChoiceField(
        label="Filesystem", choices=FILESYSTEMS,
        help_text="A description of the content. Nothing on the disk is formatted.",
    )  # fmt: skip


class EditDiskView(DiskPage, InstanceFormPage):
    """``/home/instances/<id>/disks/<id>/edit``: label and filesystem."""

    form_class = EditDiskForm
    operations = frozenset({"compute_instances_disks_update"})
    heading = "Edit {page.disk}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"label": self.disk.label, "filesystem": self.disk.filesystem}

    def perform(self, form: EditDiskForm) -> str:
        changed = disks.update(self.actor, self.disk, form.given, form.given.problems)
        return f"The disk {changed} was saved."


class ResizeDiskForm(InstanceForm):
    body = DiskResize
    size = NumberField(label="New size")


class ResizeDiskView(DiskPage, InstanceFormPage):
    """``/home/instances/<id>/disks/<id>/resize``."""

    form_class = ResizeDiskForm
    kind = "disk_resize"
    operations = frozenset({"compute_instances_disks_resize"})
    heading = "Resize {page.disk}"
    introduction = "The job fails if the running instance uses the disk, or if the files need more space."
    verb = "Resize disk"

    def get_initial(self) -> dict[str, Any]:
        return {"size": self.disk.size}

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        form.fields["size"].help_text = space_left(self.instance, self.disk.size)
        return form

    def perform(self, form: ResizeDiskForm) -> str:
        disks.resize(self.actor, self.disk, form.given.get("size"), form.given.problems)
        return JobMessage(f"The disk {self.disk} is being resized.")


class CloneDiskView(DiskPage, ConfirmationPage):
    """``/home/instances/<id>/disks/<id>/clone``."""

    kind = "disk_clone"
    dangerous = False
    operations = frozenset({"compute_instances_disks_clone"})
    heading = "Clone {page.disk}"
    introduction = "The copy needs {page.disk.size} MB. {page.space} MB are left."
    verb = "Clone disk"

    @property
    def space(self) -> int:
        """The space that is left for disks, in MB."""
        return left(self.instance)

    def perform(self, form: forms.Form) -> str:
        copy = disks.clone(self.actor, self.disk)
        return JobMessage(f"{copy} is being created.")


class DiskPasswordForm(InstanceForm):
    body = DiskPassword
    password = root_password_field("Up to 128 characters. Weak passwords are refused.", label="New root password")


class DiskPasswordView(DiskPage, InstanceFormPage, Confirmed):
    """``/home/instances/<id>/disks/<id>/password``: root's password in the system on the disk."""

    form_class = DiskPasswordForm
    kind = "password_reset"
    operations = frozenset({"compute_instances_disks_password"})
    heading = "Root password of {page.disk}"
    introduction = "The password of root in the system on the disk. The instance must be off."
    verb = "Set password"

    def perform(self, form: DiskPasswordForm) -> str:
        root_passwords.reset_on(self.actor, self.disk, form.given.get("password"), form.given.problems)
        return JobMessage(f"The root password of {self.disk} is being set.")


class DiskImageForm(ImageForm, InstanceForm):
    disk_id: int

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "disk_id": self.disk_id}


class DiskImageView(DiskPage, InstanceFormPage):
    """``/home/instances/<id>/disks/<id>/image``: an image of the disk, for the account."""

    form_class = DiskImageForm
    operations = frozenset({"images_create"})
    grant = "add_images"
    heading = "Create an image from {page.disk}"
    introduction = "The image keeps the files of the disk. New disks can be deployed from it."
    verb = "Create image"

    @cached_property
    def may_change(self) -> bool:
        """Whether the user sees the instance: an image needs no more than that and the account-level grant."""
        return self.instance is not None

    def unavailable(self) -> str:
        return images.refusals_of_new(self.actor.account_id, [self.disk.size])[0]

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        form.disk_id = self.disk.pk
        return form

    def perform(self, form: DiskImageForm) -> str:
        return JobMessage(f"The image {form.create(self.actor)} is being created.")


class DeleteDiskView(DiskPage, ConfirmationPage):
    """``/home/instances/<id>/disks/<id>/delete``."""

    kind = "disk_delete"
    operations = frozenset({"compute_instances_disks_destroy"})
    heading = "Delete {page.disk}"
    introduction = "All data on the disk is lost. The disk is removed from all profiles. This cannot be undone."
    verb = "Delete disk"

    def perform(self, form: forms.Form) -> str:
        disks.delete(self.actor, self.disk)
        return JobMessage(f"The disk {self.disk} is being deleted.")
