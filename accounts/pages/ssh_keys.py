"""Adding SSH keys to one's profile."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.generic import FormView

from accounts.models import SSHKey
from accounts.pages.base import Page, ProfilePage, actor_of, signed_in
from accounts.pages.confirm import Confirmed
from accounts.services import ssh_keys
from config.errors import Invalid
from config.pages.forms import add_problems

MAX_LABEL_LENGTH = SSHKey._meta.get_field("label").max_length


class SSHKeyForm(forms.Form):
    """A public key, as in a file that ends in ``.pub``. The service checks it."""

    ssh_key = forms.CharField(
        required=False, label="Public key",
        help_text="One line, such as in ~/.ssh/id_ed25519.pub. It begins with its type, such as ssh-ed25519.",
        widget=forms.Textarea(
            attrs={
                "rows": 4, "required": True, "autocomplete": "off", "spellcheck": "false", "class": "font-monospace"
            }
        ),
    )  # fmt: skip
    label = forms.CharField(
        required=False, max_length=MAX_LABEL_LENGTH, label="Label (optional)",
        help_text="If empty, the comment at the end of the key is used.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip


class NewSSHKeyView(Page, Confirmed, ProfilePage, FormView):
    """``/home/ssh-keys/new``."""

    operations = frozenset({"profile_sshkeys_create"})
    template_name = "components/form_page.html"
    texts = {
        "heading": "Add SSH key",
        "introduction": "New instances accept the key if you are one of their authorized users. You then sign in "
        "without a password.",
        "verb": "Add key",
    }
    form_class = SSHKeyForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer staff 404: they are on no account, and have no instances for a key."""
        if request.user.is_authenticated and signed_in(request).account_id is None:
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: SSHKeyForm) -> HttpResponse:
        given = form.cleaned_data
        try:
            key = ssh_keys.add(actor_of(signed_in(self.request)), given["ssh_key"], given["label"])
        except Invalid as error:
            add_problems(form, error)
            return self.form_invalid(form)
        messages.success(self.request, f"The key {key} was added.")
        return redirect("profile")
