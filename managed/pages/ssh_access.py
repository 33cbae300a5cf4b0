"""SSH access: whether and how staff log in to each instance."""

from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from accounts.pages.objects import ObjectForm, ObjectFormPage
from compute.models import Instance
from config.pages.forms import ChoiceField, FlagField, NumberField, TextField
from config.pages.lists import Column, Verb
from managed.filters import SSHAccessListFilterSet
from managed.models import ComputeSettings
from managed.pages.base import ManagedListPage, ManagedObjectPage
from managed.serializers.compute_settings import ComputeSettingsWish
from managed.services import compute_settings

LIST = "monitoring-ssh"


def settings_of(instance: Instance) -> ComputeSettings:
    """Return the settings of an instance, or the default ones."""
    return getattr(instance, "managed_settings", None) or ComputeSettings(instance=instance)


class SSHAccessView(ManagedListPage):
    """``/home/monitoring/ssh``: all instances of the account, with the settings."""

    template_name = "managed/ssh_access.html"
    model = Instance
    list_page = LIST
    filterset_class = SSHAccessListFilterSet
    columns = (
        Column("Instance", "label", Lower("label")),
        Column("Access"),
        Column("User", "user", F("managed_settings__user")),
        Column("Address"),
        Column("Port"),
        Column(""),
    )

    def get_queryset(self) -> QuerySet[Instance]:
        return super().get_queryset().select_related("managed_settings")

    def verbs_of(self, found: Instance) -> tuple[Verb, ...]:
        return (Verb("Edit", reverse("monitoring-ssh-edit", args=[found.pk])),)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return {**context, "settings": {row.object.pk: settings_of(row.object) for row in context["rows"]}}


class SSHAccessForm(ObjectForm):
    """The settings. Their names in the body have a dot, which no attribute can have."""

    body = ComputeSettingsWish
    partial = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        instance = self.object
        own = [*instance.ipv4, *([instance.ipv6.partition("/")[0]] if instance.ipv6 else [])]
        self.fields["ssh.access"] = FlagField(label="Staff may log in")
        self.fields["ssh.user"] = TextField(label="User", help_text="The user that staff log in as. Empty: root.")
        self.fields["ssh.ip"] = ChoiceField(
            label="Address", choices=[(ComputeSettings.ANY, "any address"), *((each, each) for each in own)]
        )
        self.fields["ssh.port"] = NumberField(label="Port", help_text="The port of SSH. Empty: 22.")

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        empty = {name: None for name in ("ssh.user", "ssh.port") if values.get(name) == ""}
        return {**values, **empty}

    def is_sent(self, name: str, value: Any) -> bool:
        return True


class EditSSHAccessView(ManagedObjectPage, ObjectFormPage):
    """``/home/monitoring/ssh/<id>``."""

    operations = frozenset({"managed_compute_settings_update"})
    model = Instance
    list_page = LIST
    form_class = SSHAccessForm
    heading = "SSH access to {page.object}"
    introduction = "These settings tell staff how to log in. They change nothing in the instance."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        settings = settings_of(self.object)
        return {f"ssh.{name}": getattr(settings, name) for name in ("access", "user", "ip", "port")}

    def perform(self, form: SSHAccessForm) -> str:
        compute_settings.update(self.actor, self.object, form.given.get("ssh", {}), form.given.problems)
        return f"The SSH access to {self.object} was saved."
