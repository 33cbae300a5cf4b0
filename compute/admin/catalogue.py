"""The catalogue of types, kernels and images. Rows in use cannot be deleted."""

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.admin.filters import AccountFilter
from accounts.models import Account
from compute.models import Image, InstanceType, Kernel
from compute.models.catalogue import PUBLIC_CREATOR
from config.admin.display import gigabytes
from config.admin.pages import Page
from config.admin.sizes import GigabytesField, SizesMixin
from config.admin.tasks import Task


class InstanceTypeForm(ModelForm):
    memory = GigabytesField(label="Memory")
    disk = GigabytesField(label="Disk")
    network_out = forms.IntegerField(
        label="Network out", min_value=1, max_value=InstanceType.MOST_NETWORK_OUT, help_text="Mbit/s."
    )

    class Meta:
        model = InstanceType
        exclude: tuple[str, ...] = ()


@admin.register(InstanceType)
class InstanceTypePage(SizesMixin, Page):
    """The resources of a type cannot change once it is sold: instances' disks were made to fit it."""

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
        ("What it gives", {
            "fields": (("memory", "disk"), ("vcpus", "gpus"), ("transfer", "network_out")),
            "description": "Memory and disk in GB, transfer in GB a month, outgoing bandwidth in Mbit/s.",
        }),
        ("Prices in USD", {
            "fields": (("price_hourly", "price_monthly"), ("backup_price_hourly", "backup_price_monthly")),
        }),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[InstanceType]:
        return super().get_queryset(request).select_related("successor")

    @admin.display(description="Memory", ordering="memory")
    def memory_in_gb(self, kind: InstanceType) -> str:
        return gigabytes(kind.memory)

    @admin.display(description="Disk", ordering="disk")
    def disk_in_gb(self, kind: InstanceType) -> str:
        return gigabytes(kind.disk)


class Kept(Page):
    """Rows that other rows name by value: they are deprecated, never deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Kernel)
class KernelPage(Kept):
    task = Task.CATALOGUE
    list_display = ("id", "label", "version", "architecture", "kvm", "pvops", "deprecated")
    list_filter = ("architecture", "kvm", "deprecated")
    search_fields = ("^id", "^label")
    fixed = ("id", "architecture")


class ImageForm(ModelForm):
    size = GigabytesField(label="Size", initial=0, help_text="GB that a disk needs at least.")

    class Meta:
        model = Image
        exclude: tuple[str, ...] = ()


@admin.register(Image)
class ImagePage(SizesMixin, Kept):
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
        return gigabytes(image.size)
