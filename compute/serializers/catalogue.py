"""Types and kernels on the wire."""

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

    hourly = FloatField(source="price_hourly", help_text="USD an hour.")
    monthly = FloatField(source="price_monthly", help_text="USD a month at most.")


class BackupsPrice(Resource):
    """Price of backups in USD, in addition to the instance's price; null where backups are not offered."""

    hourly = FloatField(
        source="backup_price_hourly", allow_null=True, help_text="USD an hour; null where backups are not offered."
    )
    monthly = FloatField(
        source="backup_price_monthly",
        allow_null=True,
        help_text="USD a month at most; null where backups are not offered.",
    )


class BackupsAddon(Resource):
    """Backups of an instance."""

    price = BackupsPrice(source="*", help_text="What backups of an instance of the type cost.")


class Addons(Resource):
    """Additional services for an instance."""

    backups = BackupsAddon(source="*", help_text="Backups of the instance.")


class TypeResource(Resource):
    """A plan: the size of an instance, and its price."""

    id = CharField(help_text="Its name in requests, such as `g6-nanode-1`.")
    label = PlatformTextField(help_text="Its name for people.")
    class_ = ChoiceField(
        InstanceType.Class.choices,
        source="type_class",
        help_text=Meanings(
            "What it is made for.",
            {
                "nanode": "Small things.",
                "standard": "Most things.",
                "dedicated": "Work that needs processors of its own.",
                "gpu": "Work on graphics processors.",
                "highmem": "Work that needs much memory.",
                "metal": "A whole machine.",
            },
        ),
    )
    memory = IntegerField(help_text="Memory, in MB.")
    disk = IntegerField(help_text="Room of all disks together, in MB.")
    vcpus = IntegerField(help_text="Number of virtual processors.")
    gpus = IntegerField(help_text="Number of graphics processors.")
    transfer = IntegerField(help_text="Outbound transfer, in GB a month.")
    network_out = IntegerField(help_text="Outbound network at most, in Mbit/s.")
    price = Price(source="*", help_text="What an instance costs.")
    addons = Addons(source="*", help_text="What else can be had with it.")
    successor = CharField(
        source="successor_id",
        allow_null=True,
        help_text="The type that replaces it, once it is no longer sold; else null.",
    )

    class Meta:
        read_only = True


class KernelResource(Resource):
    """A kernel that instances boot."""

    id = PlatformTextField(help_text="Its name in requests, such as `compute/latest-64bit`.")
    label = PlatformTextField(help_text="Its name for people.")
    version = PlatformTextField(help_text="The version of Linux.")
    kvm = BooleanField(help_text="Whether instances of this platform can boot it.")
    xen = BooleanField(help_text="Whether it runs under Xen, which this platform does not have.")
    architecture = ChoiceField(
        Kernel.Architecture.choices,
        help_text=Meanings(
            "Which processors it is for.",
            {
                "x86_64": "64 bits.",
                "i386": "32 bits.",
            },
        ),
    )
    pvops = BooleanField(help_text="Whether it is paravirtualized.")
    deprecated = BooleanField(help_text="Whether it should no longer be used.")
    built = DateTimeField(allow_null=True, help_text="When it was built, in UTC; null where unknown.")

    class Meta:
        read_only = True
