"""Forms that deploy an image: the image, the SSH keys of root, and a script with its fields. And their pages."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from django import forms

from accounts.actors import Actor
from compute.models import StackScript
from compute.pages import script_fields
from compute.pages.base import InstanceFormPage
from compute.pages.choices import chosen_script, images, scripts, users_with_keys
from compute.pages.root_passwords import RootPasswordForm
from compute.pages.ssh_key_fields import keys_field, offer_users, users_field
from config.pages.forms import ChoiceField, NumberField


class DeployForm(RootPasswordForm):
    """A form that deploys an image. `script` is the chosen script, whose fields become fields of the form."""

    field_order: Sequence[str] = ("image", "root_pass", "generate")
    no_image: ClassVar[str] = "Choose an image"
    """The text of the empty choice."""

    image = ChoiceField(label="Image")
    authorized_users = users_field()
    authorized_keys = keys_field()
    stackscript_id = NumberField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, actor: Actor, script: StackScript | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.script = script
        self.offer("image", [("", self.no_image), *images(actor, script)])
        offer_users(self, users_with_keys(actor), [actor.username])
        if script is None:
            # A sent script that is gone is refused by the service. The image is never deployed without it.
            if not self.is_bound:
                del self.fields["stackscript_id"]
            return
        self.fields |= script_fields.form_fields(script)
        self.initial = {"stackscript_id": script.pk, **script_fields.starting_values(script), **self.initial}

    def is_sent(self, name: str, value: Any) -> bool:
        if self.script and name in script_fields.cleared(self.script):
            return True
        return super().is_sent(name, value)


class DeployPage(InstanceFormPage):
    """A page with a `DeployForm`. Above the form, a script is chosen, which becomes ``?script=…``."""

    template_name = "compute/deploy.html"

    @cached_property
    def script(self) -> StackScript | None:
        """The chosen script, of those that the user may see."""
        given = self.request.POST.get("stackscript_id") or self.request.GET.get("script") or ""
        return chosen_script(self.actor, given)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "actor": self.actor, "script": self.script}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        offered, more = scripts(self.actor, None, self.script)
        more_scripts = f"{more}For another one, use the API." if more else ""
        return super().get_context_data(scripts=offered, more_scripts=more_scripts, script=self.script, **kwargs)
