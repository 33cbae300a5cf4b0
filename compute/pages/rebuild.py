"""Rebuild page: replaces all disks of an instance with an image."""

from typing import Any

from django import forms

from accounts.pages.confirm import Confirmed
from compute.pages.deploy import DeployForm, DeployPage
from compute.pages.root_passwords import RootPasswordPage
from compute.serializers.disks import spec_fields
from compute.serializers.rebuild import RebuildRequest
from compute.services.instances.rebuild import RebuildSpec, rebuild
from config.pages.forms import FlagField
from config.pages.views import JobMessage

UNCONFIRMED = "Tick the box to confirm that all disks are deleted."


class RebuildForm(DeployForm):
    body = RebuildRequest
    booted = FlagField(label="Boot the instance at the end", initial=True)
    confirm = FlagField(label="Delete all disks and configuration profiles")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.order_fields([name for name in self.fields if name not in ("booted", "confirm")])

    def clean_confirm(self) -> bool:
        if not self.cleaned_data["confirm"]:
            raise forms.ValidationError(UNCONFIRMED)
        return True

    def is_sent(self, name: str, value: Any) -> bool:
        return name != "confirm" and super().is_sent(name, value)


class RebuildView(DeployPage, RootPasswordPage, Confirmed):
    """``/home/instances/<id>/rebuild?script=…``: for users who have confirmed their own password."""

    operations = frozenset({"compute_instances_rebuild"})
    kind = "rebuild"
    form_class = RebuildForm
    heading = "Rebuild {page.instance}"
    introduction = (
        "Deletes all disks and configuration profiles, and deploys an image. This cannot be undone. The instance "
        "keeps its addresses, label, type and backups."
    )
    verb = "Rebuild"
    dangerous = True

    def perform(self, form: RebuildForm) -> str:
        rebuild(self.actor, self.instance, RebuildSpec(**spec_fields(form.given)), form.given.problems)
        return JobMessage(f"{self.instance} is being rebuilt.")
