"""The forms of a deployment script: a new one, and a changed one. They show the fields that the text declares."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django import forms
from django.urls import reverse

from accounts.actors import Actor
from accounts.pages.objects import NewObjectForm, NewObjectPage, ObjectForm, ObjectFormPage
from compute.models import StackScript
from compute.pages import choices
from compute.pages.script_fields import describe
from compute.pages.scripts.revisions import revision_of
from compute.pages.scripts.script import ScriptPage
from compute.serializers.stackscripts import StackScriptCreate, StackScriptResource
from compute.services.stackscripts import stackscripts
from compute.services.stackscripts.fields import Field, read_fields
from config import word
from config.display.integers import is_id
from config.errors import Problems, wrong_length
from config.pages.forms import BodyForm, ListField, TextField
from config.pages.views import UpdatedFormPage

MAX_LENGTH = stackscripts.MAX_LENGTHS["script"]
NEW_SCRIPT = "#!/bin/sh\n"
EVERY_OR_SINGLE = 'Choose either "Every image" or single images. To choose single images, untick "Every image".'
NO_INTERPRETER = "The first line names no interpreter. Begin the script with #!, for example #!/bin/sh."


@dataclass(frozen=True, slots=True)
class Declared:
    """The fields that the text of a script declares, the problems of its tags, and warnings."""

    fields: list[Field] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class ScriptForm(BodyForm):
    """The fields of both forms. Subclasses call `offer_images`."""

    blank = frozenset({"label", "description", "images", "script", "rev_note"})
    label = TextField(label="Label", help_text="3 to 128 characters.")
    description = TextField(label="Description", widget=forms.Textarea(attrs={"rows": 2}))
    images = ListField(label="Images", help_text="The script can be deployed on these images.")
    script = TextField(
        label="Script",
        strip=False,
        help_text="The first line names its interpreter. A UDF tag asks for a value when the script is deployed.",
        widget=forms.Textarea(
            attrs={
                "rows": 18, "spellcheck": "false", "autocomplete": "off", "autocapitalize": "off", "wrap": "off",
                "class": "font-monospace",
            }
        ),
    )  # fmt: skip
    rev_note = TextField(label="Note about this revision", help_text="At most 512 characters.")

    def clean_images(self) -> list[str]:
        """Return the images. Refuse single images together with all, which would have no effect.

        The API accepts both, because its clients may send back the images of an existing script.
        """
        chosen: list[str] = self.cleaned_data["images"]
        if stackscripts.ANY in chosen and len(set(chosen)) > 1:
            raise forms.ValidationError(EVERY_OR_SINGLE)
        return chosen

    def offer_images(self, actor: Actor, chosen: list[str]) -> None:
        """Offer the images that the actor can deploy, and the others that the script has. One query."""
        groups = [("", [(stackscripts.ANY, "Every image")]), *choices.images(actor)]
        offered = {pk for _, group in groups for pk, _ in group}
        others = [(pk, word.on_wire(pk)) for pk in chosen if pk not in offered]
        self.offer("images", [*groups, *([("Chosen earlier", others)] if others else [])])

    def image_groups(self) -> Iterator[tuple[str, list[Any], bool]]:
        """The checkboxes of the images in their groups, and whether one of the group is ticked."""
        boxes: Iterator[Any] = iter(self["images"])
        groups: Any = self.fields["images"]
        for name, group in groups.choices:
            found = list(islice(boxes, len(group)))
            yield name, found, any(box.data["selected"] for box in found)

    def as_body(self) -> dict[str, Any]:
        """Return the body with the line ends of Unix, because browsers send others."""
        body = super().as_body()
        return {**body, **{name: body[name].replace("\r\n", "\n") for name in ("description", "script")}}

    def declared(self) -> Declared:
        """Read the typed text."""
        text = str(self["script"].value() or "").replace("\r\n", "\n")
        if len(text) > MAX_LENGTH:
            return Declared(problems=[wrong_length(None, MAX_LENGTH)])
        problems, warnings = Problems(), [NO_INTERPRETER] if text and not text.startswith("#!") else []
        fields = read_fields(text, problems, warnings)
        return Declared(fields, [problem.reason for problem in problems], warnings)


class ScriptFormPage(UpdatedFormPage):
    """A page with a form of a script. The table of fields and the problems of the text update themselves."""

    template_name = "compute/script_form.html"

    def check_update(self, form: ScriptForm) -> None:
        for reason in form.declared().problems:
            form.add_error("script", reason)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        declared = context["form"].declared()
        return {**context, "fields": describe(declared.fields), "warnings": declared.warnings}


class NewScriptForm(ScriptForm, NewObjectForm):
    body = StackScriptCreate

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer_images(self.actor, [])


class NewScriptView(ScriptFormPage, NewObjectPage):
    """``/home/scripts/new``."""

    form_class = NewScriptForm
    noun = "scripts"
    operations = frozenset({"compute_stackscripts_create"})
    grant = "add_stackscripts"
    heading = "Create a deployment script"
    introduction = "A script runs once, as root, at the first boot of a disk that is deployed with it."
    verb = "Create script"
    initial = {"script": NEW_SCRIPT, "images": [stackscripts.ANY]}
    made: StackScript

    def perform(self, form: NewScriptForm) -> str:
        self.made = stackscripts.create(self.actor, form.given, form.given.problems)
        return " ".join([f"The script {self.made} was created.", *form.declared().warnings])

    def get_success_url(self) -> str:
        return reverse("script", args=[self.made.pk])


class EditScriptForm(ScriptForm, ObjectForm):
    body = StackScriptResource
    partial = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offer_images(self.actor, self.object.images)

    def as_body(self) -> dict[str, Any]:
        """Return the body. A text that differs only in its line ends is no revision."""
        body = super().as_body()
        present: str = self.object.script
        return {**body, "script": present} if body["script"] == present.replace("\r\n", "\n") else body


class EditScriptView(ScriptFormPage, ScriptPage, ObjectFormPage):
    """``/home/scripts/<id>/edit``. With ``?revision=<number>``, the form has the text of that revision."""

    form_class = EditScriptForm
    operations = frozenset({"compute_stackscripts_update"})
    heading = "Edit {page.script}"
    introduction = "A new text is a revision. Disks that were deployed before stay as they are."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        names = ("label", "description", "images", "script", "rev_note")
        present = {name: getattr(self.script, name) for name in names}
        number = self.request.GET.get("revision", "")
        if not is_id(number) or self.request.method == "POST":  # a sent form has the text
            return present
        text = revision_of(self.script, int(number)).script
        return {**present, "script": text, "rev_note": f"The text of revision {number} again."}

    def perform(self, form: EditScriptForm) -> str:
        stackscripts.update(self.actor, self.script, form.given, form.given.problems)
        return " ".join([f"The script {self.script} was saved.", *form.declared().warnings])
