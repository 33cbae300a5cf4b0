"""Serializers of types and kernels."""

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
)

from compute.models import InstanceType, Kernel
from config.api.fields import PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource


class Price(Resource):
    """Price of an instance, in USD."""

    hourly = FloatField(source="price_hourly", help_text="USD for each hour.")
    monthly = FloatField(source="price_monthly", help_text="The maximum in USD for each month.")


class BackupsPrice(Resource):
    """Price of backups in USD, in addition to the instance's price; null where backups are not offered."""

    hourly = FloatField(
        source="backup_price_hourly",
        allow_null=True,
        help_text="USD for each hour. Null if backups are not offered.",
    )
    monthly = FloatField(
        source="backup_price_monthly",
        allow_null=True,
        help_text="The maximum in USD for each month. Null if backups are not offered.",
    )


class BackupsAddon(Resource):
    """Backups of an instance."""

    price = BackupsPrice(source="*", help_text="The price of backups of an instance of the type.")


class Addons(Resource):
    """Additional services for an instance."""

    backups = BackupsAddon(source="*", help_text="Backups of the instance.")


class TypeResource(Resource):
    """A plan: the size of an instance, and its price."""

    id = CharField(help_text="The id of the type for requests, such as `g6-nanode-1`.")
    label = PlatformTextField(help_text="The name, for display.")
    class_ = ChoiceField(
        InstanceType.Class.choices,
        source="type_class",
        help_text=Meanings(
            "The class of the type.",
            {
                "nanode": "Small workloads.",
                "standard": "Most workloads.",
                "dedicated": "Workloads that need dedicated processors.",
                "gpu": "Workloads on graphics processors.",
                "highmem": "Workloads that need much memory.",
                "metal": "A physical machine.",
            },
        ),
    )
    memory = IntegerField(help_text="Memory, in MB.")
    disk = IntegerField(help_text="The maximum size of all disks together, in MB.")
    vcpus = IntegerField(help_text="The number of virtual processors.")
    gpus = IntegerField(help_text="The number of graphics processors.")
    transfer = IntegerField(help_text="Outbound transfer for each month, in GB.")
    network_out = IntegerField(help_text="The maximum outbound bandwidth, in Mbit/s.")
    price = Price(source="*", help_text="The price of an instance.")
    addons = Addons(source="*", help_text="The prices of optional services.")
    successor = CharField(
        source="successor_id",
        allow_null=True,
        help_text="The type that replaces a deprecated type. Null for other types.",
    )

    class Meta:
        read_only = True


class KernelResource(Resource):
    """A kernel that instances boot."""

    id = PlatformTextField(help_text="The id of the kernel for requests, such as `compute/latest-64bit`.")
    label = PlatformTextField(help_text="The name, for display.")
    version = PlatformTextField(help_text="The version of Linux.")
    kvm = BooleanField(help_text="Whether instances of this platform can boot the kernel.")
    xen = BooleanField(help_text="Whether the kernel runs under Xen, which this platform does not have.")
    architecture = ChoiceField(
        Kernel.Architecture.choices,
        help_text=Meanings(
            "The architecture of the kernel.",
            {
                "x86_64": "64 bits.",
                "i386": "32 bits.",
            },
        ),
    )
    pvops = BooleanField(help_text="Whether the kernel is paravirtualized.")
    deprecated = BooleanField(help_text="Whether the kernel is deprecated.")
    built = DateTimeField(
        allow_null=True, help_text="The time at which the kernel was built, in UTC. Null if unknown."
    )

    class Meta:
        read_only = True
