"""The fields of forms that deploy an image: the image, the SSH keys of root, and a script with its fields."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django import forms
from django.db.models import Q

from accounts.actors import Actor
from accounts.models import SSHKey
from compute.models import Image, StackScript
from compute.pages.root_passwords import RootPasswordForm
from config.pages.forms import ChoiceField, ListField, TextField, WordsField

SCRIPTS_OFFERED = 200
OWN_IMAGES = "Images of the account"


class ManyOfField(ListField):
    """Any number of choices, sent as one text with commas between them."""

    def to_python(self, value: Any) -> Any:
        return ",".join(str(each) for each in super().to_python(value))


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
        if script is None:
            del self.fields["stackscript_id"]
            return
        self.fields["stackscript_id"].initial = script.pk
        for field in script.user_defined_fields:
            self.fields[f"stackscript_data.{field['name']}"] = _script_field(field)

    def as_body(self) -> dict[str, Any]:
        body = super().as_body()
        sent = body.get("stackscript_id", "")
        if sent.isdecimal():
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


def _script_field(field: dict[str, str]) -> forms.Field:
    """The form's field for one value that a script asks for."""
    label, example, initial = field["label"], field.get("example", ""), field.get("default", "")
    help_text = f"Example: {example}" if example else ""
    if "oneOf" in field:
        offered = [each.strip() for each in field["oneOf"].split(",") if each.strip()]
        choices = [*([] if initial else [("", "Choose one")]), *((each, each) for each in offered)]
        return ChoiceField(label=label, choices=choices, initial=initial, help_text=help_text)
    if "manyOf" in field:
        offered = [each.strip() for each in field["manyOf"].split(",") if each.strip()]
        ticked = [each.strip() for each in initial.split(",")]
        return ManyOfField(label=label, choices=[(each, each) for each in offered], initial=ticked)
    if "password" in field["name"].lower():
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
        return TextField(label=label, help_text=help_text, widget=widget, strip=False)
    return TextField(label=label, initial=initial, help_text=help_text)
