"""The form for a new instance."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict
from django.urls import reverse_lazy

from accounts.actors import Actor
from accounts.models import Account
from accounts.pages.objects import without_tags
from compute.models import StackScript
from compute.pages import script_fields
from compute.pages.choices import Users, offer_firewalls
from compute.pages.root_passwords import root_password_field
from compute.pages.ssh_key_fields import keys_field, set_users, users_field
from compute.serializers.instances import InstanceCreate
from compute.services.backups.settings import NOT_OFFERED, is_offered
from compute.services.common.regions import VLANS
from compute.services.instances.deploy import DEFAULT_SWAP
from compute.services.instances.offers import Offers
from compute.services.networking.interfaces import NO_VLANS, PUBLIC, VLAN
from config.pages.curl import Secret
from config.pages.forms import BodyForm, ChoiceField, FlagField, NumberField, TagsField, TextField

NO_IMAGE = "none"
"""The value of the choice to deploy no image. Without any choice the form is refused."""
DEFAULTS = {"backups_enabled": False, "private_ip": False, "booted": True, "swap_size": DEFAULT_SWAP}
"""Values that a body does not need to have."""
AS_IN_THE_BACKUP = (
    "image", "root_pass", "authorized_users", "authorized_keys", "vlan", "vlan_address", "stackscript_id",
    "swap_size",
)  # fmt: skip
"""Fields that a form for an instance from a backup does not have."""


class NewInstanceForm(BodyForm):
    """The fields of the API's request, a VLAN for its `interfaces`, and the fields of the script.

    With `from_backup`, the instance is made from a backup: `backup_id` takes the place of `AS_IN_THE_BACKUP`.
    """

    body = InstanceCreate
    backup_id = NumberField(widget=forms.HiddenInput)
    region = ChoiceField(label="Region")
    image = ChoiceField(label="Image")
    type = ChoiceField(label="Type")
    label = TextField(
        help_text="3 to 64 letters, digits, dashes, underscores and dots. If empty, the platform chooses a label.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 64, "spellcheck": "false"}),
    )
    tags = TagsField(
        help_text="Words to find the instance by, separated by commas.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    root_pass = root_password_field(
        "If you leave it empty, the platform makes a strong password and shows it to you once.",
        {
            "maxlength": 128,
            "hx-post": reverse_lazy("password-strength"), "hx-trigger": "input changed delay:300ms",
            "hx-target": "#strength", "hx-swap": "innerHTML", "hx-sync": "this:replace",
            "hx-params": "root_pass,csrfmiddlewaretoken",
        },
    )  # fmt: skip
    authorized_users = users_field()
    authorized_keys = keys_field()
    private_ip = FlagField(
        label="Private IPv4 address", help_text="Instances and load balancers of the same region reach it."
    )
    vlan = TextField(
        label="VLAN", help_text="The name of a private network of your account. A new name creates one.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 64, "spellcheck": "false"}),
    )  # fmt: skip
    vlan_address = TextField(
        label="Address in the VLAN", help_text="Optional, such as 10.0.0.1/24.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )  # fmt: skip
    firewall_id = ChoiceField(label="Firewall", number=True)
    backups_enabled = FlagField(
        label="Backups", help_text="Each day. The last daily, weekly and biweekly backups are kept."
    )
    stackscript_id = ChoiceField(label="Script", number=True)
    swap_size = NumberField(
        label="Swap disk in MB", help_text="0 for none.", widget=forms.NumberInput(attrs={"min": 0, "step": 128})
    )
    booted = FlagField(label="Boot the instance when it is ready")

    renamed: ClassVar[Mapping[str, str]] = {
        "interfaces": "vlan",
        "interfaces[1].purpose": "vlan",
        "interfaces[1].label": "vlan",
        "interfaces[1].ipam_address": "vlan_address",
    }
    """The form's fields for the service's."""

    def __init__(
        self,
        actor: Actor,
        account: Account,
        offers: Offers,
        script: StackScript | None,
        users: Users,
        data: Mapping[str, Any],
        *,
        from_backup: bool = False,
    ):
        super().__init__(data)
        self.offers = offers
        self.script = script
        set_users(self, users)
        offer_firewalls(self, "firewall_id", actor)
        without_tags(self, actor)
        if script:
            self.fields.update(script_fields.form_fields(script))
        for name in AS_IN_THE_BACKUP if from_backup else ("backup_id",):
            del self.fields[name]
        self._set_backups(account)
        if "vlan" in self.fields and offers.region and VLANS not in offers.region.capabilities:
            self._disable("vlan", NO_VLANS)
            self._disable("vlan_address", "")

    def _set_backups(self, account: Account) -> None:
        plan = self.offers.type
        if plan and not is_offered(plan):
            self._disable("backups_enabled", NOT_OFFERED)
        elif account.backups_enabled:
            self._disable("backups_enabled", "The settings of your account turn on backups for each new instance.")
        self.has_backups = bool(plan and is_offered(plan)) and (
            account.backups_enabled or self["backups_enabled"].data
        )

    def _disable(self, name: str, reason: str) -> None:
        """Disable the input only: a value that is sent nevertheless is refused by the service."""
        self.fields[name].widget.attrs["disabled"] = True
        self.fields[name].help_text = reason

    def is_sent(self, name: str, value: Any) -> bool:
        if name in ("vlan", "vlan_address"):
            return False
        if name == "image" and value == NO_IMAGE:
            return False
        if self.script and name in script_fields.cleared(self.script):
            return True
        return value != DEFAULTS.get(name) and super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        made = super().as_body()
        vlan, address = self.cleaned_data.get("vlan"), self.cleaned_data.get("vlan_address")
        if vlan or address:
            made["interfaces"] = [
                {"purpose": PUBLIC},
                {"purpose": VLAN, "label": vlan, "ipam_address": address},
            ]
        return made

    def without_secrets(self) -> dict[str, Any]:
        """The body with a `Secret` for each value that nobody may read from a page."""
        body = self.as_body()
        if "image" in body:
            body["root_pass"] = Secret("ROOT_PASS")
        if self.script and "stackscript_data" in body:
            body["stackscript_data"] = script_fields.without_secrets(self.script, body["stackscript_data"])
        return body

    def script_inputs(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(script_fields.PREFIX)]

    def prices(self) -> tuple[float, float] | None:
        """The price of the choices by the hour and by the month; None without a type."""
        plan = self.offers.type
        if plan is None:
            return None
        if not self.has_backups:
            return plan.price_hourly, plan.price_monthly
        return (
            plan.price_hourly + (plan.backup_price_hourly or 0),
            plan.price_monthly + (plan.backup_price_monthly or 0),
        )


def starting_values(
    actor: Actor, offers: Offers, script: StackScript | None, users: Users, given: QueryDict
) -> dict[str, Any]:
    """The values that the form begins with: the offered choices, or those of the address."""
    mine = [username for username, _ in users.choices if username == actor.username]
    values: dict[str, Any] = {"authorized_users": mine, "booted": True, "swap_size": DEFAULT_SWAP}
    for name in ("region", "image", "type"):
        chosen = getattr(offers, name)
        values[name] = chosen.pk if chosen else given.get(name, "")
    if script:
        values |= {"stackscript_id": script.pk, **script_fields.starting_values(script)}
    return values
