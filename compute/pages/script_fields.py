"""The fields of a deployment script as fields of a form."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from compute.models import StackScript
from compute.services.stackscripts.fields import Field, choices_of
from config.pages.curl import Secret
from config.pages.forms import ChoiceField, ListField, TextField

PREFIX = "stackscript_data."
SECRET = re.compile(r"pass(word|wd|phrase)?(_|$)|secret|token|api_?key|private_?key", re.IGNORECASE)


class SeveralField(ListField):
    """A field for several of the choices, which a script gets as one text separated by commas."""

    def to_python(self, value: Any) -> Any:
        return ",".join(str(each) for each in super().to_python(value))


def is_secret(field: Field) -> bool:
    """Tell whether the value is hidden: by the field's name, since scripts do not declare it. Choices are never
    hidden."""
    return "oneOf" not in field and "manyOf" not in field and SECRET.search(field["name"]) is not None


def cleared(script: StackScript) -> frozenset[str]:
    """The names of the form's fields whose empty input is a value, because a missing one has a default."""
    return frozenset(
        f"{PREFIX}{field['name']}"
        for field in script.user_defined_fields
        if field.get("default") and "oneOf" not in field and not is_secret(field)
    )


def form_fields(script: StackScript) -> dict[str, forms.Field]:
    """The form's fields by the name that they have in the body of a request."""
    return {f"{PREFIX}{field['name']}": _form_field(field) for field in script.user_defined_fields}


def starting_values(script: StackScript) -> dict[str, Any]:
    """The defaults of the fields, as a browser would send them."""
    return {
        f"{PREFIX}{field['name']}": choices_of(field["default"]) if "manyOf" in field else field["default"]
        for field in script.user_defined_fields
        if "default" in field
    }


def without_secrets(script: StackScript, data: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a request's ``stackscript_data``, with a `Secret` for each that is not shown."""
    hidden = {field["name"] for field in script.user_defined_fields if is_secret(field)}
    return {name: Secret(name.upper()) if name in hidden else value for name, value in data.items()}


def describe(fields: Iterable[Field]) -> list[dict[str, Any]]:
    """Describe fields for a table: the kind of value, the choices, and the default; None for a required value."""
    return [
        {
            **field,
            "variable": field["name"].upper(),
            "kind": _kind(field),
            "choices": choices_of(field.get("oneOf") or field.get("manyOf") or ""),
            "default": field.get("default"),
        }
        for field in fields
    ]


def _kind(field: Field) -> str:
    if "oneOf" in field:
        return "one of"
    if "manyOf" in field:
        return "any of"
    return "hidden text" if is_secret(field) else "text"


def _form_field(field: Field) -> forms.Field:
    asked: dict[str, Any] = {"label": field["label"], "help_text": f"${field['name'].upper()} in the script."}
    if "manyOf" in field:
        return SeveralField(choices=[(each, each) for each in choices_of(field["manyOf"])], **asked)
    if "oneOf" in field:
        none = [] if field.get("default") else [("", "none" if "default" in field else "Choose one")]
        return ChoiceField(choices=[*none, *((each, each) for each in choices_of(field["oneOf"]))], **asked)
    attributes = {"autocomplete": "off"}
    if field.get("example"):
        attributes["placeholder"] = field["example"]
    if is_secret(field):
        attributes["autocomplete"] = "new-password"
        return TextField(strip=False, widget=forms.PasswordInput(attrs=attributes), **asked)
    return TextField(strip=False, widget=forms.TextInput(attrs=attributes), **asked)
