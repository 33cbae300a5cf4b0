"""Settings of an instance: its label, group and tags, its alerts, its watchdog; and deleting it."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.urls import reverse

from accounts.pages.objects import without_tags
from compute.models import Instance
from compute.pages.base import InstanceFormPage, InstanceTab
from compute.serializers.instances import InstanceResource, changes_of
from compute.services.instances import instances
from config.pages.forms import BodyForm, FlagField, NumberField, TagsField, TextField
from config.pages.views import JobMessage, ServiceFormView

ALERT_OFF_HINT = "0 turns the alert off."
ALERTS = {
    "alerts.cpu": "Processor usage, % (100 for each processor)",
    "alerts.io": "Disk blocks read and written per second",
    "alerts.network_in": "Incoming traffic, Mbit/s",
    "alerts.network_out": "Outgoing traffic, Mbit/s",
    "alerts.transfer_quota": "Traffic sent this month, % of the transfer of the type",
}
LABEL_HELP = "3 to 64 letters, digits, dashes, underscores and dots. The first and the last are letters or digits."


class GeneralForm(BodyForm):
    body = InstanceResource
    partial = True
    blank = frozenset({"label", "group", "tags"})
    label = TextField(label="Label", max_length=64, help_text=LABEL_HELP)
    group = TextField(
        label="Group", max_length=50, help_text="A word to sort instances by. We recommend tags instead."
    )
    tags = TagsField()


class AlertsForm(BodyForm):
    """The alerts. Their names in the body have a dot, which no attribute can have."""

    body = InstanceResource
    partial = True
    blank = frozenset(ALERTS)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, label in ALERTS.items():
            self.fields[name] = NumberField(label=label, help_text=ALERT_OFF_HINT)


class WatchdogForm(BodyForm):
    body = InstanceResource
    partial = True
    watchdog_enabled = FlagField(label="Boot the instance again if it powers off unexpectedly")


FORMS: Mapping[str, type[BodyForm]] = {"general": GeneralForm, "alerts": AlertsForm, "watchdog": WatchdogForm}


def values_of(instance: Instance) -> dict[str, Any]:
    """The present values of the fields of all forms."""
    names = ("label", "group", "tags", "watchdog_enabled")
    alerts = {name: getattr(instance, name.replace("alerts.", "alert_")) for name in ALERTS}
    return {**{name: getattr(instance, name) for name in names}, **alerts}


class SettingsView(InstanceTab, ServiceFormView):
    """``/home/instances/<id>/settings``, and ``/alerts`` and ``/watchdog`` below it: one page with a form each.

    The address that a form is sent to names the form.
    """

    template_name = "compute/instance_settings.html"
    tab = "instance-settings"
    operations = frozenset({"compute_instances_update"})
    form: str = "general"

    def get_form_class(self) -> type[BodyForm]:
        return FORMS[self.form]

    def get_initial(self) -> dict[str, Any]:
        return values_of(self.instance)

    def get_form(self, form_class: type[BodyForm] | None = None) -> BodyForm:
        form: BodyForm = super().get_form(form_class)
        without_tags(form, self.actor)
        return form

    def perform(self, form: BodyForm) -> str:
        instances.update(self.actor, self.instance, changes_of(form.given), form.given.problems)
        return "The settings were saved."

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        for name, form in FORMS.items():
            unsent = form(initial=values_of(self.instance))
            without_tags(unsent, self.actor)
            context[name] = context["form"] if name == self.form else unsent
        return context


class DeleteForm(forms.Form):
    label = TextField(label="Label of the instance", widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, *args: Any, instance: Instance, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.instance = instance
        self.fields["label"].help_text = f"Type {instance.label} to confirm."

    def clean_label(self) -> str:
        if self.cleaned_data["label"] != self.instance.label:
            raise forms.ValidationError(f"Type the label of the instance: {self.instance.label}")
        return self.instance.label


class DeleteView(InstanceFormPage):
    """``/home/instances/<id>/delete``: for users who type the instance's label."""

    operations = frozenset({"compute_instances_destroy"})
    kind = "delete"
    form_class = DeleteForm
    heading = "Delete {page.instance}"
    introduction = "Deletes the instance with its disks, backups and addresses. This cannot be undone."
    verb = "Delete"
    dangerous: ClassVar[bool] = True

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": self.instance}

    def perform(self, form: DeleteForm) -> str:
        instances.delete(self.actor, self.instance)
        return JobMessage(f"{self.instance} is being deleted.")

    def get_success_url(self) -> str:
        return reverse("instances")
