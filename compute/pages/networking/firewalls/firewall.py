"""A firewall's page, its settings, enabling and disabling it, and deleting it."""

from collections.abc import Iterable
from typing import Any

from django import forms

from accounts.pages.base import signed_in
from accounts.pages.live_pages import LiveObjectPage
from accounts.pages.objects import ObjectForm
from compute.models import Firewall
from compute.pages.networking.firewalls.base import (
    LABEL_HELP,
    FirewallConfirmationPage,
    FirewallFormPage,
    FirewallPage,
)
from compute.pages.networking.firewalls.devices import PENDING, device_rows, values_of
from compute.pages.networking.firewalls.rule_tables import tables_of
from compute.serializers.networking.firewalls import FirewallUpdate
from compute.services.networking.firewalls import firewalls, mail_ports
from config.pages.forms import TagsField, TextField
from config.pages.navigation import NOUNS
from config.pages.views import VerbView


class FirewallView(FirewallPage, LiveObjectPage):
    """``/home/firewalls/<id>``: its rules, and its instances in a part that updates itself."""

    template_name = "compute/firewall.html"
    part_template = "compute/firewall_devices.html"
    tab = "firewall"
    gone = "This firewall has been deleted, or you may not see it any more."

    def shown(self) -> dict[str, Any]:
        shown, rows = device_rows(self)
        return {"rows": rows, "page_obj": shown, "pending": any(row.state == PENDING for row in rows)}

    def values_of(self, shown: dict[str, Any]) -> Iterable[Any]:
        return self.firewall.status, shown["page_obj"].paginator.count, *values_of(shown["rows"])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            tables=tables_of(self.firewall),
            mail_ports_closed=mail_ports.are_closed(self._account()),
            mail_ports=mail_ports.MAIL_PORTS,
            **kwargs,
        )

    def _account(self) -> Any:
        return signed_in(self.request).account


class SettingsForm(ObjectForm):
    body = FirewallUpdate
    partial = True
    blank = frozenset({"label", "tags"})
    label = TextField(label="Label", help_text=LABEL_HELP)
    tags = TagsField()


class SettingsView(FirewallFormPage):
    """``/home/firewalls/<id>/edit``."""

    form_class = SettingsForm
    operations = frozenset({"networking_firewalls_update"})
    heading = "Edit label and tags of {page.firewall}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"label": self.firewall.label, "tags": self.firewall.tags}

    def perform(self, form: SettingsForm) -> str:
        changes = firewalls.FirewallChanges(**form.given)
        firewalls.update(self.actor, self.firewall, changes, form.given.problems)
        return "The settings were saved."


class EnableView(FirewallPage, VerbView):
    """``/home/firewalls/<id>/enable``."""

    operations = frozenset({"networking_firewalls_update"})

    def perform(self) -> str:
        firewalls.update(self.actor, self.firewall, firewalls.FirewallChanges(status=Firewall.Status.ENABLED))
        return f"The firewall {self.firewall} is enabled."


class DisableView(FirewallConfirmationPage):
    """``/home/firewalls/<id>/disable``."""

    operations = frozenset({"networking_firewalls_update"})
    heading = "Disable {page.firewall}"
    introduction = "All traffic of its instances passes until the firewall is enabled again."
    verb = "Disable"

    def perform(self, form: forms.Form) -> str:
        firewalls.update(self.actor, self.firewall, firewalls.FirewallChanges(status=Firewall.Status.DISABLED))
        return f"The firewall {self.firewall} is disabled."


class DeleteView(FirewallConfirmationPage):
    """``/home/firewalls/<id>/delete``."""

    operations = frozenset({"networking_firewalls_destroy"})
    heading = "Delete {page.firewall}"
    introduction = "Deletes the firewall with its rules. All traffic of its instances passes then."
    verb = "Delete"

    def get_success_url(self) -> str:
        return NOUNS[self.noun].address

    def back_address(self) -> str:
        return self.address(self.home)

    def perform(self, form: forms.Form) -> str:
        firewalls.delete(self.actor, self.firewall)
        return f"The firewall {self.firewall} was deleted."
