"""Power verbs: boot, reboot and shut down, and booting with a chosen configuration profile."""

from typing import Any

from compute.pages.base import InstanceFormPage, InstancePage
from compute.serializers.instances import BootRequest
from compute.services.instances import power
from config.pages.forms import BodyForm, ChoiceField
from config.pages.views import JobMessage, VerbView


class BootView(InstancePage, VerbView):
    """``/home/instances/<id>/boot``: with the profile of the last boot, else the only one."""

    operations = frozenset({"compute_instances_boot"})

    def perform(self) -> str:
        job = power.boot(self.actor, self.instance)
        return JobMessage(f"{self.instance} is booting.") if job else f"{self.instance} is running already."


class RebootView(InstancePage, VerbView):
    """``/home/instances/<id>/reboot``."""

    operations = frozenset({"compute_instances_reboot"})

    def perform(self) -> str:
        power.reboot(self.actor, self.instance)
        return JobMessage(f"{self.instance} is rebooting.")


class ShutdownView(InstancePage, VerbView):
    """``/home/instances/<id>/shutdown``."""

    operations = frozenset({"compute_instances_shutdown"})

    def perform(self) -> str:
        job = power.shutdown(self.actor, self.instance)
        return JobMessage(f"{self.instance} is shutting down.") if job else f"{self.instance} is off already."


class ProfileForm(BodyForm):
    body = BootRequest
    config_id = ChoiceField(label="Configuration profile", number=True)


class BootProfileView(InstanceFormPage):
    """``/home/instances/<id>/boot/profile``."""

    operations = frozenset({"compute_instances_boot"})
    kind = "boot"
    form_class = ProfileForm
    heading = "Boot {page.instance}"
    verb = "Boot"

    def get_form(self, form_class: Any = None) -> ProfileForm:
        form: ProfileForm = super().get_form(form_class)
        profiles = self.instance.configs.order_by("pk").values_list("pk", "label")
        form.offer("config_id", profiles or [("", "none: create a profile first")], self.instance.booted_config_id)
        return form

    def perform(self, form: ProfileForm) -> str:
        job = power.boot(self.actor, self.instance, form.given.get("config_id"), form.given.problems)
        return JobMessage(f"{self.instance} is booting.") if job else f"{self.instance} is running already."


class RebootProfileView(BootProfileView):
    """``/home/instances/<id>/reboot/profile``."""

    operations = frozenset({"compute_instances_reboot"})
    kind = "reboot"
    heading = "Reboot {page.instance}"
    introduction = "Shuts the instance down, and boots it again with the chosen profile."
    verb = "Reboot"

    def perform(self, form: ProfileForm) -> str:
        power.reboot(self.actor, self.instance, form.given.get("config_id"), form.given.problems)
        return JobMessage(f"{self.instance} is rebooting.")
