"""Configuration profiles of an instance."""

import re
from itertools import islice
from typing import Any

from django.db import models
from django.db.models import F, Func, Model, OuterRef, QuerySet, Subquery, Value
from django.db.models.aggregates import Aggregate
from django.db.models.functions import Coalesce, JSONObject
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateTimeField, IntegerField

from accounts.actors import Actor
from compute.api.instances import READ, WRITE
from compute.api.nested import OfInstance
from compute.api.resources import LARGEST, InterfacesField, shown_interfaces
from compute.filters.configs import ConfigFilterSet
from compute.models import Config, ConfigDevice, Instance, VolumeDevice
from compute.services.instances import configs
from compute.services.instances.configs import ConfigChanges
from config.api import reasons
from config.api.access import READ_ONLY, READ_WRITE
from config.api.common_fields import IdField
from config.api.fields import Annotated, Computed, Constant
from config.api.meanings import Meanings
from config.api.operations import operation
from config.api.serializers import Positions, Resource
from config.api.views import ReadOnlyModelViewSet

MOST_NAMED = 100
"""Slots that there are not, of those that a body fills."""
ROOT_DEVICE = r"[A-Za-z0-9/_-]+"
MOST_COMMENTS = 65535


class Helpers(Resource):
    """What the platform does to the system on the root device before it boots."""

    updatedb_disabled = BooleanField(required=False, help_text="Keeps `updatedb` from running each night.")
    distro = BooleanField(required=False, help_text="Adjusts the system to the platform: console, file systems.")
    modules_dep = BooleanField(required=False, help_text="Writes the list of modules for the kernel anew.")
    network = BooleanField(
        required=False, help_text="Writes the configuration of the network for the instance's addresses."
    )
    devtmpfs_automount = BooleanField(required=False, help_text="Mounts `/dev` when the kernel starts.")


class Device(Resource):
    """A disk or a volume: exactly one of the two."""

    disk_id = IdField(allow_null=True, required=False, help_text="A disk of the instance, or null.")
    volume_id = IdField(
        allow_null=True, required=False, help_text="A volume of the account in the same region, or null."
    )


class Devices(Resource):
    """What is in which slot; null where nothing is. There are no other slots that something could be in."""

    sda = Device(allow_null=True, required=False, help_text="What is on `/dev/sda`; null for nothing.")
    sdb = Device(allow_null=True, required=False, help_text="What is on `/dev/sdb`; null for nothing.")
    sdc = Device(allow_null=True, required=False, help_text="What is on `/dev/sdc`; null for nothing.")
    sdd = Device(allow_null=True, required=False, help_text="What is on `/dev/sdd`; null for nothing.")
    sde = Device(allow_null=True, required=False, help_text="What is on `/dev/sde`; null for nothing.")
    sdf = Device(allow_null=True, required=False, help_text="What is on `/dev/sdf`; null for nothing.")
    sdg = Device(allow_null=True, required=False, help_text="What is on `/dev/sdg`; null for nothing.")
    sdh: Device | None = Device(
        allow_null=True, required=False, help_text="What is on `/dev/sdh`; null for nothing."
    )

    def examine(
        self, data: dict[str, Any], positions: Positions | None = None, path: str = ""
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        values, wrong = super().examine(data, positions, path)
        others = (name for name, device in data.items() if device is not None and name not in self.fields)
        wrong.update((name, [reasons.not_valid(f"{self.within}{name}")]) for name in islice(others, MOST_NAMED))
        return values, wrong


class RootDeviceField(CharField):
    """The path of a device, such as ``/dev/sda``."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if not re.fullmatch(ROOT_DEVICE, value, re.ASCII):
            self.fail("invalid")
        return value


class _ObjectAgg(Aggregate):
    function = "jsonb_object_agg"
    output_field = models.JSONField()


class _Merge(Func):
    template = "(%(expressions)s)"
    arg_joiner = " || "
    output_field = models.JSONField()


def _filled(model: type[Model], **device: Any) -> Coalesce:
    """The slots of a profile that rows of `model` are in, as one JSON object."""
    rows = model._default_manager.filter(config=OuterRef("pk")).order_by().values("config")
    by_slot = rows.annotate(by_slot=_ObjectAgg("slot", JSONObject(**device))).values("by_slot")
    return Coalesce(Subquery(by_slot), Value({}, models.JSONField()))


def _all_slots() -> _Merge:
    """All eight slots of a profile as one JSON object, ``null`` where nothing sits."""
    none = Value(None, models.JSONField())
    return _Merge(
        Value(dict.fromkeys(ConfigDevice.SLOTS), models.JSONField()),
        _filled(ConfigDevice, disk_id="disk_id", volume_id=none),
        _filled(VolumeDevice, disk_id=none, volume_id="volume_id"),
    )


class ConfigRequest(Resource):
    """What is written of a profile. A change replaces `devices` and `interfaces` as a whole, of `helpers` what it
    names."""

    label = CharField(min_length=1, max_length=48, help_text="A name for it; up to 48 characters.")
    kernel = CharField(
        source="kernel_id",
        required=False,
        help_text="The kernel that it boots (`GET /compute/kernels`); by default `compute/latest-64bit`.",
    )
    comments = CharField(
        max_length=MOST_COMMENTS,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=False,
        required=False,
        help_text="Anything you wish to note; up to 65,535 characters.",
    )
    memory_limit = IntegerField(
        min_value=0,
        max_value=LARGEST,
        required=False,
        help_text="MB that the instance may use, up to its type's memory; 0, the default, is all of it.",
    )
    run_level = ChoiceField(
        Config.RunLevel.choices,
        required=False,
        help_text=Meanings(
            "What the system boots into.",
            {
                "default": "As it does by itself.",
                "single": "Single-user mode.",
                "binbash": "A root shell, without the system's own start.",
            },
        ),
    )
    virt_mode = ChoiceField(
        Config.VirtMode.choices,
        required=False,
        help_text=Meanings(
            "How devices are presented to the system.",
            {
                "paravirt": "By drivers made for virtual machines; the default.",
                "fullvirt": "As a real machine would have them.",
            },
        ),
    )
    interfaces = InterfacesField(
        required=False,
        help_text="Its network interfaces, `eth0` first, three at most. Without any it has the public one.",
    )
    helpers = Helpers(
        required=False,
        help_text="What the platform prepares before it boots. On a new profile all are on that are not named.",
    )
    devices = Devices(help_text="What is on which device. A change replaces all of them.")
    root_device = RootDeviceField(
        max_length=64, required=False, help_text="The device that is mounted as root; by default `/dev/sda`."
    )


class ConfigResource(Resource):
    """A configuration profile: how an instance boots."""

    id = IntegerField(read_only=True)
    label = CharField(min_length=1, max_length=48)
    kernel = CharField(source="kernel_id")
    comments = CharField(allow_null=True)
    memory_limit = IntegerField()
    run_level = ChoiceField(Config.RunLevel.choices)
    virt_mode = ChoiceField(Config.VirtMode.choices)
    interfaces = Computed(InterfacesField(), shown_interfaces, "interfaces")
    helpers = Annotated(Helpers(), F("helpers"))
    devices = Annotated(Devices(), _all_slots())
    root_device = CharField()
    initrd = Constant(CharField(allow_null=True), None, help_text="Always null: kernels bring theirs along.")
    created = DateTimeField(read_only=True)
    updated = DateTimeField(read_only=True)

    class Meta:
        as_in = (ConfigRequest,)


def changes_of(given: dict[str, Any]) -> ConfigChanges:
    """What the service takes, from what is good in a body."""
    apart = {name: given.pop(name, None) for name in ("helpers", "devices", "interfaces")}
    return ConfigChanges(given, **apart)


class ConfigViewSet(OfInstance, ReadOnlyModelViewSet[Actor, Config]):
    """Configuration profiles of an instance: how it boots."""

    serializer_class = ConfigResource
    filterset_class = ConfigFilterSet
    required_scopes = READ
    required_grant = READ_ONLY

    def get_queryset(self) -> QuerySet[Config]:
        return Config.objects.filter(instance__in=self.get_parent_queryset().values("pk"))

    @operation(WRITE, READ_WRITE, request=ConfigRequest)
    def create(self, request: Request, compute_id: int) -> Response:
        """Add a profile. VLANs that its interfaces name for the first time come into being."""
        instance: Instance = self.get_parent()
        given = self.body()
        return self.shown(configs.create(self.actor, instance, changes_of(given), given.problems))

    @operation(WRITE, READ_WRITE, request=ConfigRequest)
    def update(self, request: Request, compute_id: int, id: int) -> Response:
        """Change a profile: what is given, from the next boot on. `devices` is the whole map of devices."""
        config, given = self.get_object(), self.body(partial=True)
        return self.shown(configs.update(self.actor, config, changes_of(given), given.problems))

    @operation(WRITE, READ_WRITE)
    def destroy(self, request: Request, compute_id: int, id: int) -> Response:
        """Delete a profile. An instance that runs with it runs on. Cannot be undone."""
        configs.delete(self.actor, self.get_object())
        return Response({})

    def shown(self, config: Config) -> Response:
        """The profile as it is in the tables: what is in its slots stands in two others."""
        return self.retrieve(self.request, **{**self.kwargs, "id": config.pk})
