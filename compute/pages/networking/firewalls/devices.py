"""The instances that a firewall is attached to: showing, attaching and detaching them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse

from accounts.pages.objects import ObjectForm
from compute.models import Firewall, FirewallDevice, Instance
from compute.pages.choices import offer_rows, with_region
from compute.pages.networking.firewalls.base import FirewallConfirmationPage, FirewallFormPage, FirewallPage
from compute.serializers.networking.firewalls import FirewallDeviceRequest
from compute.services.networking.firewalls import firewalls
from config.pages.forms import ChoiceField
from config.pages.lists import Verb

DEVICES_SHOWN = 50
APPLIED, PENDING = "applied", "being applied"


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """An instance with the firewall, and whether its host has the present rules.

    `since` is the time of the first change that the host has not applied.
    """

    pk: int
    instance: Instance
    state: str
    since: datetime | None
    verbs: tuple[Verb, ...]


def seen_devices(page: FirewallPage) -> QuerySet[FirewallDevice]:
    """The firewall's devices whose instances the user may see."""
    seen = Instance.objects.visible_to(page.actor).values("pk")
    return FirewallDevice.objects.filter(firewall=page.firewall, instance__in=seen)


def device_rows(page: FirewallPage) -> tuple[Any, list[DeviceRow]]:
    """Return the page of devices that the address names, and its rows."""
    devices = seen_devices(page).select_related("instance__packet_filter").order_by("instance__label", "pk")
    shown = Paginator(devices, DEVICES_SHOWN).get_page(page.request.GET.get("page"))
    keys = [device.instance_id for device in shown]
    writable = Instance.objects.writable_keys(page.actor, keys) if page.may_change else ()
    return shown, [_row_of(page.firewall, device, device.instance_id in writable) for device in shown]


def _row_of(firewall: Firewall, device: FirewallDevice, may_remove: bool) -> DeviceRow:
    state, since = (APPLIED, None) if firewall.status == Firewall.Status.ENABLED else ("disabled", None)
    wanted = getattr(device.instance, "packet_filter", None)
    if wanted is not None and wanted.pending:
        state, since = PENDING, wanted.changed
    verb = Verb("Detach", reverse("firewall-device-remove", args=[firewall.pk, device.pk]))
    return DeviceRow(device.pk, device.instance, state, since, (verb,) if may_remove else ())


def values_of(rows: list[DeviceRow]) -> Iterator[tuple]:
    """Return the values by which the rows are compared with those that the browser has."""
    return ((row.pk, row.instance.label, row.state, row.since, row.verbs) for row in rows)


class DeviceForm(ObjectForm):
    body = FirewallDeviceRequest
    id = ChoiceField(label="Instance", number=True)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        free = Instance.objects.writable_by(self.actor).exclude(firewall_devices__firewall=self.object)
        offer_rows(self, "id", free.order_by("label", "pk"), with_region, ("", "choose one"))

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "type": "compute"}


class AddDeviceView(FirewallFormPage):
    """``/home/firewalls/<id>/devices/add``."""

    form_class = DeviceForm
    operations = frozenset({"networking_firewalls_devices_create"})
    heading = "Attach {page.firewall} to an instance"
    introduction = "An instance has at most one enabled firewall."
    verb = "Attach firewall"

    def perform(self, form: DeviceForm) -> str:
        made = firewalls.add_device(self.actor, self.firewall, form.given.get("id"), form.given.problems)
        return f"The firewall {self.firewall} was attached to {made.instance}."


class RemoveDeviceView(FirewallConfirmationPage):
    """``/home/firewalls/<id>/devices/<id>/remove``."""

    part_noun = "attachment of the firewall"
    part_needs_grant = True
    operations = frozenset({"networking_firewalls_devices_destroy"})
    heading = "Detach {page.firewall} from {page.device.instance}"
    introduction = "The firewall no longer filters the traffic of {page.device.instance}."
    verb = "Detach firewall"

    @cached_property
    def device(self) -> FirewallDevice:
        found = seen_devices(self).select_related("instance", "firewall").filter(pk=self.kwargs["device"]).first()
        if found is None:
            raise Http404
        if not Instance.objects.writable_by(self.actor).filter(pk=found.instance_id).exists():
            raise PermissionDenied
        return found

    def perform(self, form: forms.Form) -> str:
        firewalls.remove_device(self.actor, self.device)
        return f"The firewall {self.firewall} was detached from {self.device.instance}."
