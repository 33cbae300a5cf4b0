"""`BodyForm`: a form whose values the serializer of an API request checks.

A form and the API give the same reasons for the same mistake, because both ask the same serializer. Forms show them
in the words of pages (`config.pages.reasons`). The form itself only turns the texts of a browser into JSON values,
and draws the inputs.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms

from config.api.parsers import NUL
from config.api.serializers import Body, Resource
from config.display.integers import is_integer
from config.errors import DomainError
from config.pages.reasons import entry_at, entry_text, reason_on_page, text_on_page

TAG = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?=[,\n]|$)|([^,\n]+)')
"""A tag in a list separated by commas: plain, or in double quotes. There, two double quotes stand for one."""
TAGS_HELP = "Separated by commas. A tag that has a comma is in double quotes."
LIST_POSITION = re.compile(r"\[\d+\].*$")
"""The position in a list, and what follows it, in the path of a problem: ``authorized_keys[2]``."""


class TextField(forms.CharField):
    """A text. An empty input is no value, unless the form lists the field in `blank`."""

    def __init__(self, **kwargs: Any):
        super().__init__(required=False, **kwargs)

    def run_validators(self, value: Any) -> None:
        """Check nothing: the serializer gives the API's reason for a text that is too long or has a NUL."""


class NumberField(TextField):
    """A whole number. Other texts are passed on, so that the serializer gives its reason."""

    widget = forms.NumberInput

    def to_python(self, value: Any) -> Any:
        """Return an int, or the text if it is no number."""
        text = super().to_python(value) or ""
        return int(text) if is_integer(text) else text


class _Choosing(forms.Field):
    """Mixin of fields with `choices`, which are pairs of value and label, for the widget.

    With ``number=True`` the values are ids. The serializer or the service refuses other values.
    """

    def __init__(self, *, choices: Iterable[Any] = (), number: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.number = number
        self.choices = choices

    @property
    def choices(self) -> Any:
        return self.widget.choices

    @choices.setter
    def choices(self, choices: Iterable[Any]) -> None:
        self.widget.choices = choices

    def value_of(self, text: str) -> int | str:
        """Return a chosen value: an int if values are ids, else the text."""
        return int(text) if self.number and is_integer(text) else text


class ChoiceField(_Choosing, TextField):
    """One of several choices."""

    widget = forms.Select

    def to_python(self, value: Any) -> Any:
        return self.value_of(super().to_python(value) or "")


class SelectWithReasons(forms.Select):
    """A select whose options can be disabled. `reasons` has the reason for each, by its value."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.reasons: Mapping[str, str] = {}

    def create_option(self, name: str, value: Any, label: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, label, *args, **kwargs)
        if reason := text_on_page(self.reasons.get(str(value), "")):
            option["label"] = f"{label}: {reason}"
            option["attrs"]["disabled"] = True
        return option


class FlagField(forms.BooleanField):
    """Yes or no, as a checkbox. An unticked checkbox is false."""

    def __init__(self, **kwargs: Any):
        super().__init__(required=False, **kwargs)


class ListField(_Choosing):
    """Several texts: ticked checkboxes or chosen options."""

    widget = forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"})

    def __init__(self, **kwargs: Any):
        super().__init__(required=False, **kwargs)

    def to_python(self, value: Any) -> list[int | str]:
        return [self.value_of(str(each)) for each in value or ()]


class WordsField(TextField):
    """Several words, separated by commas or line breaks, as a list: tags, addresses, keys."""

    def __init__(self, *, separators: str = r"[,\n]", **kwargs: Any):
        super().__init__(**kwargs)
        self.separators = separators

    def to_python(self, value: Any) -> Any:
        """Return the list of words."""
        found = re.split(self.separators, super().to_python(value) or "")
        return [word.strip() for word in found if word.strip()]

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list | tuple) else value


class TagsField(WordsField):
    """Tags, separated by commas. A tag that has a comma is in double quotes: else saving a form would split it."""

    def __init__(self, *, label: str = "Tags", help_text: str = TAGS_HELP, **kwargs: Any):
        super().__init__(label=label, help_text=help_text, **kwargs)

    def to_python(self, value: Any) -> Any:
        text = TextField.to_python(self, value) or ""
        found = [quoted.replace('""', '"') if quoted else plain.strip() for quoted, plain in TAG.findall(text)]
        return [tag for tag in found if tag]

    def prepare_value(self, value: Any) -> Any:
        return super().prepare_value([_quoted(tag) for tag in value] if isinstance(value, list | tuple) else value)


def _quoted(tag: str) -> str:
    """Return a tag as `TagsField` reads it, in double quotes if it would be read differently without them."""
    if not tag.startswith('"') and "," not in tag:
        return tag
    return '"{}"'.format(tag.replace('"', '""'))


class BodyForm(forms.Form):
    """Base of the forms whose values are the body of an API request.

    ::

        class ResizeForm(BodyForm):
            body = ResizeRequest
            type = ChoiceField(label="Type")

    A field has the name that it has in the body. A field of a nested object has a path, such as ``alerts.cpu``.
    After `is_valid`, the attribute `given` is the checked body, as a view of the API has it. It has the valid
    values by their source, and the problems of the others for the service to raise. `add_problems` shows the
    reasons of an error.
    """

    body: ClassVar[type[Resource]]
    partial: ClassVar[bool] = False
    """Whether fields that are omitted keep their value, as in a PUT."""
    blank: ClassVar[frozenset[str]] = frozenset()
    """The fields whose empty input is a value: an empty text or list, not "not given"."""
    reason: str = ""
    """The reason why the form cannot be sent, such as that there is nothing to choose. Empty if it can be sent."""
    given: Body

    def as_body(self) -> dict[str, Any]:
        """Return the JSON body of the same request to the API. Empty inputs are omitted."""
        made: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            if self.is_sent(name, value):
                *path, last = name.split(".")
                place = made
                for each in path:
                    place = place.setdefault(each, {})
                place[last] = value
        return made

    def is_sent(self, name: str, value: Any) -> bool:
        """Tell whether a field belongs to the body. Override it to exclude fields that only the page uses."""
        return name in self.blank or value not in (None, "", [])

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc] # Django's hook, which model forms use as well
        self.given = self.body.read_body(self.body.with_word(self.as_body()), self.partial)
        self._refuse_nul()

    def _refuse_nul(self) -> None:
        """Refuse texts with a NUL, as the API's parser does. Serializers do not check the values of objects."""
        refused = {problem.field for problem in self.given.problems}
        for name, value in self.cleaned_data.items():
            if isinstance(value, str) and NUL in value and name not in refused:
                self.given.problems.add(name, f"{name} is not valid")

    def offer(self, name: str, choices: Iterable[Any], initial: Any = None) -> None:
        """Set the choices of a field, and its initial choice."""
        field: Any = self.fields[name]
        field.choices = list(choices)
        field.initial = initial

    def checked(self) -> Body:
        """Return `given`. Raises `Invalid` with all its problems, for services that do not take problems."""
        self.given.problems.raise_any()
        return self.given


def add_problems(form: forms.Form, error: DomainError, fields: Mapping[str, str] | None = None) -> None:
    """Show a service's problems at the form's fields, in the words of pages.

    `fields` maps the service's field names to different form names.
    """
    renamed = fields or {}
    body: Mapping[str, Any] = {}
    if any((problem.field or "").endswith("]") for problem in error.problems):
        # Read before the first problem is added: Django then drops the value of its field.
        body = form.as_body() if isinstance(form, BodyForm) else dict(form.cleaned_data)
    for problem in error.problems:
        sent = problem.field or ""
        name = renamed.get(sent, sent)
        while name not in form.fields and LIST_POSITION.search(name):
            name = LIST_POSITION.sub("", name)
        entry = entry_at(body, sent)
        shown = "" if entry is None else entry_text(entry, form.fields.get(name))
        form.add_error(name if name in form.fields else None, reason_on_page(problem, name, form.fields, shown))
