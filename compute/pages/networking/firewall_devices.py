"""The firewalls of an instance: putting one on, and taking one off."""

from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404

from compute.models import Firewall, FirewallDevice
from compute.pages.base import ConfirmationPage, InstanceForm, InstanceFormPage
from compute.pages.choices import offer_rows
from compute.pages.configs import deleting
from compute.serializers.networking.firewalls import FirewallDeviceRequest
from compute.services.networking.firewalls import firewalls
from config.errors import Invalid
from config.pages.forms import ChoiceField

TAB = "instance-network"
NO_FIREWALL = "You have no other firewall that you may change. Create a firewall first."


class DeviceForm(InstanceForm):
    body = FirewallDeviceRequest
    firewall = ChoiceField(label="Firewall", number=True)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        free = Firewall.objects.writable_by(self.actor).exclude(devices__instance=self.instance)
        rows = free.only("label", "status").order_by("label", "pk")
        if not offer_rows(
            self, "firewall", rows, lambda each: (each.pk, f"{each.label}, {each.status}"), ("", "choose one")
        ):
            self.reason = NO_FIREWALL

    def as_body(self) -> dict[str, Any]:
        return {"id": self.instance.pk, "type": "compute"}


class AddFirewallView(InstanceFormPage):
    """``/home/instances/<id>/firewalls/add``."""

    form_class = DeviceForm
    tab = TAB
    renamed = {"id": "firewall"}
    operations = frozenset({"networking_firewalls_devices_create"})
    heading = "Attach a firewall"
    introduction = "An instance has at most one enabled firewall."
    verb = "Attach firewall"

    def unavailable(self) -> str:
        return deleting(self.instance)

    def perform(self, form: DeviceForm) -> str:
        pk = form.cleaned_data["firewall"]
        firewall = Firewall.objects.writable_by(self.actor).filter(pk=pk).first() if isinstance(pk, int) else None
        if firewall is None:
            raise Invalid("Choose a firewall.", "firewall")
        firewalls.add_device(self.actor, firewall, form.given.get("id"), form.given.problems)
        return f"The firewall {firewall} was attached to {self.instance}."


class RemoveFirewallView(ConfirmationPage):
    """``/home/instances/<id>/firewalls/<device id>/remove``."""

    tab = TAB
    part_noun = "attachment of the firewall"
    part_needs_grant = True
    operations = frozenset({"networking_firewalls_devices_destroy"})
    heading = "Detach {page.device.firewall} from {page.instance}"
    introduction = "The firewall no longer filters the traffic of {page.instance}."
    verb = "Detach firewall"

    @cached_property
    def device(self) -> FirewallDevice:
        seen = Firewall.objects.visible_to(self.actor).values("pk")
        here = FirewallDevice.objects.filter(instance=self.instance, firewall__in=seen).select_related("firewall")
        found = here.filter(pk=self.kwargs["device"]).first()
        if found is None:
            raise Http404
        if not Firewall.objects.writable_by(self.actor).filter(pk=found.firewall_id).exists():
            raise PermissionDenied
        return found

    def perform(self, form: forms.Form) -> str:
        firewalls.remove_device(self.actor, self.device)
        return f"The firewall {self.device.firewall} was detached from {self.instance}."
