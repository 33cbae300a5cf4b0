"""The fields of forms that deploy an image: the image, the SSH keys of root, and a script with its fields."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django import forms
from django.db.models import Q

from accounts.actors import Actor
from accounts.models import SSHKey
from compute.models import Image, StackScript
from compute.pages import script_fields
from compute.pages.root_passwords import RootPasswordForm
from config.pages.forms import INTEGER, ChoiceField, ListField, TextField, WordsField

SCRIPTS_OFFERED = 200
OWN_IMAGES = "Images of the account"


class DeployForm(RootPasswordForm):
    """A form that deploys an image. `script` is the chosen script, whose fields become fields of the form."""

    field_order = ("image", "root_pass", "generate")

    image = ChoiceField(label="Image")
    authorized_users = ListField(label="SSH keys of users", help_text="Root accepts all keys of these users.")
    authorized_keys = WordsField(
        label="Other SSH keys",
        separators=r"\n",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="Public keys, one on each line.",
    )
    stackscript_id = TextField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, actor: Actor, script: StackScript | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer("image", _images(actor, script))
        users = list(_users_with_keys(actor))
        own = [name for name in users if name == actor.username]
        self.offer("authorized_users", [(name, name) for name in users], own)
        if not users:
            del self.fields["authorized_users"]
        self.script = script
        if script is None:
            del self.fields["stackscript_id"]
            return
        self.fields["stackscript_id"].initial = script.pk
        self.fields.update(script_fields.form_fields(script))
        for name, value in script_fields.starting_values(script).items():
            self.fields[name].initial = value

    def is_sent(self, name: str, value: Any) -> bool:
        return bool(self.script and name in script_fields.cleared(self.script)) or super().is_sent(name, value)

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        sent = body.get("stackscript_id", "")
        if INTEGER(sent):
            body["stackscript_id"] = int(sent)
        return body


def scripts_for(actor: Actor) -> list[StackScript]:
    """The account's scripts and those that the platform recommends, without their texts."""
    offered = Q(account_id=actor.account_id) | Q(ordinal__gt=0)
    rows = StackScript.objects.visible_to(actor).filter(offered).only("pk", "label", "account_id")
    return list(rows.order_by("label", "pk")[:SCRIPTS_OFFERED])


def _images(actor: Actor, script: StackScript | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The images that can be deployed, with the script if there is one, by vendor. The account's come last."""
    rows = Image.objects.visible_to(actor).filter(status=Image.Status.AVAILABLE, deprecated=False)
    if script is not None and "any/all" not in script.images:
        rows = rows.filter(pk__in=script.images)
    shown = rows.order_by("-is_public", "vendor", "position", "pk")

    def group(image: Image) -> str:
        return (image.vendor or "Other") if image.is_public else OWN_IMAGES

    yield "", [("", "Choose an image")]
    for name, images in groupby(shown, group):
        yield name, [(image.pk, image.label) for image in images]


def _users_with_keys(actor: Actor) -> Iterator[str]:
    """The users of the account who have SSH keys; a restricted user sees only itself."""
    rows = SSHKey.objects.filter(user__account_id=actor.account_id, user__is_active=True)
    if actor.restricted:
        rows = rows.filter(user_id=actor.person)
    yield from rows.order_by("user__username").values_list("user__username", flat=True).distinct()
