"""What can be bought and booted: types, kernels and images."""

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
)

from compute.models import Image, InstanceType, Kernel
from config.api.access import ANYONE, PUBLIC, READ_ONLY, Scope, holds
from config.api.serializers import Resource
from config.api.views import QUARTER_HOUR, ResourceViewSet


class Price(Resource):
    """USD."""

    hourly = FloatField(source="price_hourly")
    monthly = FloatField(source="price_monthly")


class BackupsPrice(Resource):
    """USD, on top of the instance's; null where backups are not offered."""

    hourly = FloatField(source="backup_price_hourly", allow_null=True)
    monthly = FloatField(source="backup_price_monthly", allow_null=True)


class BackupsAddon(Resource):
    price = BackupsPrice(source="*")


class Addons(Resource):
    backups = BackupsAddon(source="*")


class TypeResource(Resource):
    id = CharField()
    label = CharField()
    class_ = ChoiceField(InstanceType.Class.choices, source="type_class")
    memory = IntegerField(help_text="MB.")
    disk = IntegerField(help_text="MB.")
    vcpus = IntegerField()
    gpus = IntegerField()
    transfer = IntegerField(help_text="GB a month.")
    network_out = IntegerField(help_text="Mbit/s.")
    price = Price(source="*")
    addons = Addons(source="*")
    successor = CharField(source="successor_id", allow_null=True)

    class Meta:
        read_only = True
        filterable = (
            "id", "label", "class", "memory", "disk", "vcpus", "gpus", "transfer", "network_out", "successor",
        )  # fmt: skip


class KernelResource(Resource):
    id = CharField()
    label = CharField()
    version = CharField()
    kvm = BooleanField()
    xen = BooleanField()
    architecture = ChoiceField(Kernel.Architecture.choices)
    pvops = BooleanField()
    deprecated = BooleanField()
    built = DateTimeField(allow_null=True)

    class Meta:
        read_only = True
        filterable = ("id", "label", "version", "kvm", "xen", "architecture", "pvops", "deprecated", "built")


class ImageResource(Resource):
    id = CharField(read_only=True)
    label = CharField(max_length=50, required=False)
    description = CharField(allow_null=True, min_length=1, max_length=65000, required=False)
    vendor = CharField(read_only=True, allow_null=True)
    size = IntegerField(read_only=True, help_text="MB.")
    type = ChoiceField(Image.Type.choices, read_only=True)
    status = ChoiceField(Image.Status.choices, read_only=True)
    is_public = BooleanField(read_only=True)
    deprecated = BooleanField(read_only=True)
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True, allow_null=True)
    created_by = CharField(read_only=True, allow_null=True)
    expiry = DateTimeField(read_only=True, allow_null=True)
    eol = DateTimeField(read_only=True, allow_null=True)

    class Meta:
        filterable = (
            "id", "label", "vendor", "size", "type", "status", "is_public", "deprecated", "created", "updated",
            "created_by",
        )  # fmt: skip


class TypeViewSet(ResourceViewSet):
    """Instance types: sizes and prices."""

    resource = TypeResource
    scopes = {"list": PUBLIC, "retrieve": PUBLIC}
    grants = {"list": ANYONE, "retrieve": ANYONE}
    cache_control = QUARTER_HOUR

    @staticmethod
    def objects(actor, path):
        return InstanceType.objects.all()


class KernelViewSet(ResourceViewSet):
    """Kernels that instances boot."""

    resource = KernelResource
    scopes = {"list": PUBLIC, "retrieve": PUBLIC}
    grants = {"list": ANYONE, "retrieve": ANYONE}
    cache_control = QUARTER_HOUR

    @staticmethod
    def objects(actor, path):
        return Kernel.objects.all()


class ImageViewSet(ResourceViewSet):
    """Images that disks are deployed from: the public ones, and with a token those of its account."""

    resource = ImageResource
    scopes = {
        # any caller gets the public ones; a token without the scope gets no more than that
        "list": Scope(("images:read_only",), token=False, enforced=False),
        "retrieve": Scope(("images:read_only",), token=False, enforced=False),
    }
    grants = {"list": ANYONE, "retrieve": READ_ONLY}

    @property
    def viewer(self):
        return self.caller if self.caller is not None and holds(self.caller, "images:read_only") else None

    @staticmethod
    def objects(actor, path):
        return Image.objects.visible_to(actor)
