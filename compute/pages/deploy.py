"""The fields of forms that deploy an image: the image, the SSH keys of root, and a script with its fields."""

from typing import Any

from django import forms

from accounts.actors import Actor
from compute.models import StackScript
from compute.pages import script_fields
from compute.pages.choices import images, users_with_keys
from compute.pages.root_passwords import RootPasswordForm
from compute.pages.ssh_key_fields import keys_field, offer_users, users_field
from config.pages.forms import ChoiceField, NumberField


class DeployForm(RootPasswordForm):
    """A form that deploys an image. `script` is the chosen script, whose fields become fields of the form."""

    field_order = ("image", "root_pass", "generate")

    image = ChoiceField(label="Image")
    authorized_users = users_field()
    authorized_keys = keys_field()
    stackscript_id = NumberField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, actor: Actor, script: StackScript | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.script = script
        self.offer("image", [("", "Choose an image"), *images(actor, script)])
        offer_users(self, users_with_keys(actor), [actor.username])
        if script is None:
            del self.fields["stackscript_id"]
            return
        self.fields |= script_fields.form_fields(script)
        self.initial = {"stackscript_id": script.pk, **script_fields.starting_values(script), **self.initial}

    def is_sent(self, name: str, value: Any) -> bool:
        if self.script and name in script_fields.cleared(self.script):
            return True
        return super().is_sent(name, value)
