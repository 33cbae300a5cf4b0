"""What can be bought and booted: types and kernels."""

from django.db.models import QuerySet
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
)

from accounts.actors import Actor
from compute.models import InstanceType, Kernel
from config.api.access import ANYONE, PUBLIC
from config.api.paths import PathParameters
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


class TypeViewSet(ResourceViewSet):
    """Instance types: sizes and prices."""

    resource = TypeResource
    scopes = {"list": PUBLIC, "retrieve": PUBLIC}
    grants = {"list": ANYONE, "retrieve": ANYONE}
    cache_control = QUARTER_HOUR

    @staticmethod
    def objects(actor: Actor | None, path: PathParameters) -> QuerySet[InstanceType]:
        return InstanceType.objects.all()


class KernelViewSet(ResourceViewSet):
    """Kernels that instances boot."""

    resource = KernelResource
    scopes = {"list": PUBLIC, "retrieve": PUBLIC}
    grants = {"list": ANYONE, "retrieve": ANYONE}
    cache_control = QUARTER_HOUR

    @staticmethod
    def objects(actor: Actor | None, path: PathParameters) -> QuerySet[Kernel]:
        return Kernel.objects.all()
