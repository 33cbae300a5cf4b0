"""The catalogue of types, kernels and images. Rows in use cannot be deleted."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.admin.filters import AccountFilter
from accounts.models import Account
from compute.models import Image, InstanceType, Kernel
from compute.models.catalogue import PUBLIC_CREATOR
from compute.services.catalogue.values import MAX_PRICE
from compute.services.usage.repricing import reprice
from config.admin.pages import Page
from config.admin.sizes import GigabytesField, SizesMixin
from config.admin.tasks import Task
from config.display.quantities import size

POSITION = (
    "The place in lists, such as 25. The smallest number comes first. The rows of the catalogue have 10, 20, 30"
    " and so"
    " on."
)
NEW_SLUG = "Lower-case letters, digits and hyphens. Clients use it, and it cannot change later."
FIXED = "It cannot change later."
PRICES = {"price_hourly", "price_monthly", "backup_price_hourly", "backup_price_monthly"}
REPRICING_SECONDS = 5
"""The time in which a saved price reaches the instances that exist, before the page answers."""


class InstanceTypeForm(ModelForm):
    memory = GigabytesField(label="Memory (GB)", help_text=f"In GB, such as 4 or 0.5. {FIXED}")
    disk = GigabytesField(label="Disk (GB)", help_text=f"In GB, such as 80. {FIXED}")
    network_out = forms.IntegerField(
        label="Outgoing bandwidth (Mbit/s)",
        min_value=1,
        max_value=InstanceType.MAX_NETWORK_OUT,
        help_text="In Mbit/s, such as 4000.",
    )

    class Meta:
        model = InstanceType
        exclude: tuple[str, ...] = ()
        labels: ClassVar[dict[str, str]] = {
            "vcpus": "Cores",
            "gpus": "GPUs",
            "transfer": "Transfer (GB a month)",
            "price_hourly": "Price for an hour",
            "price_monthly": "Price for a month",
            "backup_price_hourly": "Backups, for an hour",
            "backup_price_monthly": "Backups, for a month",
        }
        help_texts: ClassVar[dict[str, str]] = {
            "id": f"Such as g6-standard-2. {NEW_SLUG}",
            "label": "The name that customers see, such as Standard 4 GB.",
            "type_class": "The group of plans in lists. " + FIXED,
            "deprecated": "If ticked, nobody can create instances with this plan. Instances with it keep running.",
            "successor": "The plan that instances of a deprecated plan can upgrade to. If empty, there is none.",
            "vcpus": "The number of virtual cores, such as 2. " + FIXED,
            "gpus": "The number of graphics cards, usually 0. " + FIXED,
            "transfer": "Outgoing traffic that the plan includes in a month, in GB, such as 4000.",
            "price_hourly": "In USD, such as 0.03. Customers see it, and their usage is counted with it.",
            "price_monthly": "In USD, such as 20. The most that an instance costs in a month. Customers see it.",
            "backup_price_hourly": "In USD, such as 0.008. If empty, customers see no price.",
            "backup_price_monthly": "In USD, such as 5. If empty, customers see no price.",
            "position": POSITION,
        }

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name in PRICES & self.fields.keys():  # staff who only view have no fields
            self.fields[name].validators += [MinValueValidator(0), MaxValueValidator(MAX_PRICE)]


@admin.register(InstanceType)
class InstanceTypePage(SizesMixin, Page):
    """The page of a plan. Its resources cannot change, because the disks of its instances were made to fit it."""

    task = Task.CATALOGUE
    form = InstanceTypeForm
    sizes = ("memory", "disk")
    list_display = (
        "id", "label", "type_class", "memory_in_gb", "vcpus", "disk_in_gb", "transfer", "price_monthly",
        "deprecated",
    )  # fmt: skip
    list_filter = ("type_class", "deprecated")
    search_fields = ("^id", "^label")
    ordering = ("type_class", "memory", "id")
    fixed = ("id", "type_class", "memory", "disk", "vcpus", "gpus")
    fieldsets = (
        (None, {"fields": ("id", "label", "type_class", "deprecated", "successor", "position")}),
        ("Resources", {"fields": (("memory", "disk"), ("vcpus", "gpus"), ("transfer", "network_out"))}),
        ("Prices in USD", {
            "fields": (("price_hourly", "price_monthly"), ("backup_price_hourly", "backup_price_monthly")),
        }),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[InstanceType]:
        return super().get_queryset(request).select_related("successor")

    def save_model(self, request: HttpRequest, obj: InstanceType, form: ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and PRICES & {*form.changed_data}:
            # the comparison of counters with rows shows staff the accounts for which this time does not suffice
            transaction.on_commit(partial(reprice, REPRICING_SECONDS), robust=True)

    @admin.display(description="Memory", ordering="memory")
    def memory_in_gb(self, kind: InstanceType) -> str:
        return size(kind.memory)

    @admin.display(description="Disk", ordering="disk")
    def disk_in_gb(self, kind: InstanceType) -> str:
        return size(kind.disk)


class UndeletablePage(Page):
    """A page of rows that other rows name by value: staff deprecate them and never delete them."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Kernel)
class KernelPage(UndeletablePage):
    task = Task.CATALOGUE
    labels: ClassVar[Mapping[str, str]] = {
        "kvm": "For KVM",
        "xen": "For Xen",
        "pvops": "Paravirtualized",
        "built": "Built (UTC)",
    }
    help_texts: ClassVar[Mapping[str, str]] = {
        "id": "Such as compute/latest-64bit. Clients use it, and it cannot change later.",
        "label": "The name that customers see, such as Latest 64 bit (6.1.0-x86_64).",
        "version": "The version of Linux, such as 6.1.0.",
        "kvm": "Whether the kernel runs on KVM, as all real hosts need. Customers see it.",
        "xen": "Whether the kernel runs on Xen. Customers see it.",
        "architecture": "The processors that the kernel is for. " + FIXED,
        "pvops": "Whether the kernel has paravirtualized operations. Customers see it.",
        "deprecated": "If ticked, customers see that they should choose another kernel.",
        "built": "When the kernel was built. If empty, customers see no date.",
        "position": POSITION,
    }
    list_display = ("id", "label", "version", "architecture", "kvm", "pvops", "deprecated")
    list_filter = ("architecture", "kvm", "deprecated")
    search_fields = ("^id", "^label")
    fixed = ("id", "architecture")


class ImageForm(ModelForm):
    size = GigabytesField(
        label="Size (GB)",
        initial=0,
        help_text=f"The smallest disk that fits the image, in GB, such as 2.5. {FIXED}",
    )

    class Meta:
        model = Image
        exclude: tuple[str, ...] = ()
        labels: ClassVar[dict[str, str]] = {"created": "Created (UTC)", "eol": "End of life (UTC)"}
        help_texts: ClassVar[dict[str, str]] = {
            "id": "Such as compute/debian12. Clients use it, and it cannot change later.",
            "label": "The name that customers see, such as Debian 12. At most 50 characters.",
            "vendor": "The distribution, such as Debian. If empty, customers see none.",
            "description": "A sentence for customers. It may be empty.",
            "deprecated": "If ticked, customers see that they should choose another image.",
            "created": "The time at which the image was created. " + FIXED,
            "eol": "When the distribution ends its updates. If empty, customers see no date.",
            "position": POSITION,
        }


@admin.register(Image)
class ImagePage(SizesMixin, UndeletablePage):
    """Staff manage public images; customers' own images are read-only."""

    task = Task.CATALOGUE
    form = ImageForm
    sizes = ("size",)
    list_display = ("id", "label", "vendor", "owner", "size_in_gb", "status", "deprecated", "eol", "age")
    list_select_related = ("account",)
    list_filter = ("is_public", AccountFilter, "status", "deprecated")
    search_fields = ("id", "^label")
    search_help_text = "An image's id, or how its label begins."
    fixed = ("id", "size", "created")
    fieldsets = (
        (None, {
            "fields": (
                "id", "label", "vendor", "description", "size", "position", "deprecated", "is_public", "account",
            ),
        }),
        ("State", {"fields": ("status", "type", "created_by", "expiry")}),
        ("Dates", {"fields": ("created", "updated", "eol")}),
    )  # fmt: skip
    readonly_fields = ("account", "is_public", "status", "type", "created_by", "expiry", "updated")

    def has_change_permission(self, request: HttpRequest, obj: Image | None = None) -> bool:
        return (obj is None or obj.account_id is None) and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: Image, form: ModelForm, change: bool) -> None:
        if not change:
            # only owners create private images, from a disk or an upload
            obj.is_public, obj.created_by = True, PUBLIC_CREATOR
        super().save_model(request, obj, form, change)

    @admin.display(description="Owner")
    def owner(self, image: Image) -> Account | str:
        return image.account or "official"

    @admin.display(description="Size", ordering="size")
    def size_in_gb(self, image: Image) -> str:
        return size(image.size)
