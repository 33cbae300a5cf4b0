"""Adding SSH keys to one's profile."""

from django import forms

from accounts.pages.base import AccountPage, ProfilePage
from accounts.pages.confirm import Confirmed
from accounts.serializers.ssh_keys import SSHKeyResource
from accounts.services import ssh_keys
from config.pages.forms import BodyForm, TextField
from config.pages.views import ServiceFormView


class SSHKeyForm(BodyForm):
    """A public key, as in a file that ends in ``.pub``."""

    body = SSHKeyResource
    ssh_key = TextField(
        label="Public key",
        help_text="One line, such as in ~/.ssh/id_ed25519.pub. It begins with its type, such as ssh-ed25519.",
        widget=forms.Textarea(
            attrs={
                "rows": 4, "required": True, "autocomplete": "off", "spellcheck": "false", "class": "font-monospace"
            }
        ),
    )  # fmt: skip
    label = TextField(
        label="Label (optional)", help_text="If empty, the comment at the end of the key is used.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip


class NewSSHKeyView(AccountPage, Confirmed, ProfilePage, ServiceFormView):
    """``/home/ssh-keys/new``."""

    topic = "profile-ssh-keys"
    operations = frozenset({"profile_sshkeys_create"})
    template_name = "components/form_page.html"
    texts = {
        "heading": "Add SSH key",
        "introduction": "New instances accept the key if you are one of their authorized users. You then sign in "
        "without a password.",
        "verb": "Add key",
    }
    form_class = SSHKeyForm

    def perform(self, form: SSHKeyForm) -> str:
        given = form.checked()
        key = ssh_keys.add(self.actor, given["ssh_key"], given.get("label", ""))
        return f"The key {key} was added."
