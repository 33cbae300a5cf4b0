"""The configuration profiles of an instance: the list, and booting, creating, changing and deleting one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse

from compute.models import Config, ConfigDevice, Instance
from compute.pages.base import ConfirmationPage, InstanceFormPage, InstancePage
from compute.pages.config_form import ConfigForm, EditConfigForm, volume_names
from compute.pages.parts import PartTab
from compute.serializers.configs import changes_of
from compute.services.instances import configs, power
from config.errors import Busy, DomainError
from config.pages.lists import Verb
from config.pages.views import JobMessage, VerbView

TAB = "instance-configs"


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """A profile with its devices by slot, and the verbs that the user may take."""

    config: Config
    devices: tuple[tuple[str, str], ...]
    verbs: tuple[Verb, ...]


class ConfigsView(PartTab):
    """``/home/instances/<id>/configs``."""

    template_name = "compute/instance_part.html"
    part_template = "compute/configs.html"
    tab = TAB

    def shown(self, refusals: Mapping[str, str]) -> dict[str, Any]:
        configs = with_devices(self.instance.configs.order_by("pk"))
        names = volume_names(self.actor, configs)
        rows = [
            ConfigRow(config, devices_of(config, names), self._verbs_of(config, refusals)) for config in configs
        ]
        return {"part_title": "Configurations", "configs": rows, "reason": deleting(self.instance)}

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        for row in shown["configs"]:
            yield row.config.pk, row.config.updated, row.devices

    def _verbs_of(self, config: Config, refusals: Mapping[str, str]) -> tuple[Verb, ...]:
        if not self.may_change:
            return ()

        def verb(label: str, page: str, reason: str = "", **kwargs: bool) -> Verb:
            address = reverse(f"instance-config-{page}", args=[self.instance.pk, config.pk])
            return Verb(label, address, reason, **kwargs)

        gone = deleting(self.instance)
        if self.instance.status == Instance.Status.RUNNING:
            boot = verb("Reboot with profile", "reboot", refusals["reboot"])
        else:
            boot = verb("Boot with profile", "boot", refusals["boot"], posted=True)
        return boot, verb("Edit", "edit", gone), verb("Delete", "delete", gone)


def with_devices(configs: QuerySet[Config]) -> list[Config]:
    """The profiles, with what `devices_of` reads. Four queries for any number of profiles."""
    return list(configs.select_related("kernel").prefetch_related("devices__disk", "volume_devices"))


def devices_of(config: Config, volumes: Mapping[int, str]) -> tuple[tuple[str, str], ...]:
    """The labels of a profile's disks and volumes, by slot. `volumes` has the names of the volumes."""
    labels = {device.slot: device.disk.label for device in config.devices.all()}
    labels |= {device.slot: f"{volumes[device.volume_id]} (volume)" for device in config.volume_devices.all()}
    return tuple((slot, labels[slot]) for slot in ConfigDevice.SLOTS if slot in labels)


def deleting(instance: Instance) -> str:
    """Return the reason why the profiles cannot be changed now; empty if they can. Live jobs do not prevent
    changes."""
    return str(Busy()) if instance.status == Instance.Status.DELETING else ""


class ConfigFormPage(InstanceFormPage):
    """A page with the form of a profile."""

    template_name = "compute/config_form.html"
    tab = TAB

    def unavailable(self) -> str:
        return deleting(self.instance)

    def refused(self, form: Any, error: DomainError) -> HttpResponse:
        return super().refused(form, form.renamed(error))


class NewConfigView(ConfigFormPage):
    """``/home/instances/<id>/configs/new``."""

    form_class = ConfigForm
    operations = frozenset({"compute_instances_configs_create"})
    heading = "Create a configuration profile"
    verb = "Create profile"

    def get_initial(self) -> dict[str, Any]:
        return {
            "kernel": Config._meta.get_field("kernel").default,
            "root_device": "/dev/sda",
            "memory_limit": 0,
            "interfaces[0].purpose": "public",
            **{f"helpers.{name}": on for name, on in configs.first_helpers(self.instance).items()},
        }

    def perform(self, form: ConfigForm) -> str:
        made = configs.create(self.actor, self.instance, changes_of(form.given), form.given.problems)
        return f"The profile {made} was created."


class ConfigPage(InstancePage):
    """A page about one profile of the instance; others are answered 404."""

    tab = TAB
    part_noun = "profile"

    @cached_property
    def config(self) -> Config:
        found = next(iter(with_devices(self.instance.configs.filter(pk=self.kwargs["config"]))), None)
        if found is None:
            raise Http404
        return found


class EditConfigView(ConfigPage, ConfigFormPage):
    """``/home/instances/<id>/configs/<id>/edit``."""

    form_class = EditConfigForm
    operations = frozenset({"compute_instances_configs_update"})
    heading = "Edit {page.config}"
    introduction = "Changes take effect at the next boot."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return self.form_class.initial_of(self.config)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "config": self.config}

    def perform(self, form: EditConfigForm) -> str:
        changed = configs.update(self.actor, self.config, changes_of(form.given), form.given.problems)
        return f"The profile {changed} was saved."


class DeleteConfigView(ConfigPage, ConfirmationPage):
    """``/home/instances/<id>/configs/<id>/delete``."""

    operations = frozenset({"compute_instances_configs_destroy"})
    heading = "Delete {page.config}"
    introduction = "The disks stay. If the instance runs with this profile, it keeps running."
    verb = "Delete profile"

    def unavailable(self) -> str:
        return deleting(self.instance)

    def perform(self, form: forms.Form) -> str:
        configs.delete(self.actor, self.config)
        return f"The profile {self.config} was deleted."


class BootWithConfigView(ConfigPage, VerbView):
    """``/home/instances/<id>/configs/<id>/boot``."""

    operations = frozenset({"compute_instances_boot"})

    def perform(self) -> str:
        if power.boot(self.actor, self.instance, self.config.pk) is None:
            return f"{self.instance} is running already."
        return JobMessage(f"{self.instance} is booting with {self.config}.")


class RebootWithConfigView(ConfigPage, ConfirmationPage):
    """``/home/instances/<id>/configs/<id>/reboot``."""

    kind = "reboot"
    dangerous = False
    operations = frozenset({"compute_instances_reboot"})
    heading = "Reboot with {page.config}"
    introduction = "{page.instance} is shut down and boots with this profile."
    verb = "Reboot"

    def perform(self, form: forms.Form) -> str:
        power.reboot(self.actor, self.instance, self.config.pk)
        return JobMessage(f"{self.instance} is rebooting with {self.config}.")
