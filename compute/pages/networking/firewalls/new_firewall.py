"""The form for a new firewall."""

from typing import Any

from django import forms
from django.urls import reverse

from accounts.pages.objects import NewObjectForm, NewObjectPage
from compute.models import Firewall, Instance
from compute.pages.choices import MAX_LISTED, offer_rows, with_region
from compute.pages.networking.firewalls.base import LABEL_HELP
from compute.pages.networking.firewalls.presets import PRESETS
from compute.serializers.networking.firewalls import FirewallCreate, spec_of
from compute.services.networking.firewalls import firewalls
from config.pages.forms import ChoiceField, ListField, TagsField, TextField

POLICIES = {"ACCEPT": "Accept", "DROP": "Drop"}


class NewFirewallForm(NewObjectForm):
    """The fields in the body have dots in their names, which no attribute can have."""

    body = FirewallCreate
    blank = frozenset({"label"})
    label = TextField(label="Label", help_text=LABEL_HELP)
    presets = ListField(
        label="Accept from everywhere",
        choices=[(name, preset.words) for name, preset in PRESETS.items()],
        help_text="The first inbound rules. You can change them, and add others, when the firewall exists.",
    )
    tags = TagsField()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for direction, words in (("inbound", "Other inbound traffic"), ("outbound", "Outbound traffic")):
            self.fields[f"rules.{direction}_policy"] = ChoiceField(label=words, choices=tuple(POLICIES.items()))
        self.fields["devices.computes"] = ListField(
            label="Instances", number=True,
            help_text="An instance that has an enabled firewall already is not in the list.",
        )  # fmt: skip
        free = Instance.objects.writable_by(self.actor).exclude(firewall_devices__enabled=True)
        offer_rows(self, "devices.computes", free.order_by("label", "pk"), with_region, most=MAX_LISTED)
        self.order_fields([name for name in self.fields if name != "tags"])  # the tags last

    def clean_presets(self) -> list[str]:
        chosen: list[str] = self.cleaned_data["presets"]
        if not PRESETS.keys() >= set(chosen):
            raise forms.ValidationError("Choose presets of the list.")
        return chosen

    def is_sent(self, name: str, value: Any) -> bool:
        return name != "presets" and super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        rules = [PRESETS[name].rule() for name in self.cleaned_data.get("presets", ())]
        return {**body, "rules": {**body.get("rules", {}), "inbound": rules}}


class NewFirewallView(NewObjectPage):
    """``/home/firewalls/new``."""

    noun = "firewalls"
    grant = "add_firewalls"
    form_class = NewFirewallForm
    operations = frozenset({"networking_firewalls_create"})
    heading = "Create a firewall"
    introduction = "A firewall filters the traffic of instances on their public interface, but not on VLANs."
    verb = "Create firewall"
    made: Firewall

    def get_initial(self) -> dict[str, Any]:
        policies = {"rules.inbound_policy": "DROP", "rules.outbound_policy": "ACCEPT"}
        return {**policies, "presets": ["ssh", "ping"]}

    def perform(self, form: NewFirewallForm) -> str:
        self.made = firewalls.create(self.actor, spec_of(form.given), form.given.problems)
        return f"The firewall {self.made} was created."

    def get_success_url(self) -> str:
        return reverse("firewall", args=[self.made.pk])
