"""The form of a restricted user's grants. Its cleaned data has only the changes, as the service requires."""

from typing import Any

from django import forms
from django.http import QueryDict

from accounts.entities import grantable
from accounts.models import GlobalGrants, Level, User
from accounts.services.grants import named_grants
from config.display.integers import is_id

LEVELS = [("", "no access"), *Level.choices]
GRANTS_SHOWN = 200
"""The maximum number of grants on entities in one form. Further grants are changed by the entity's id."""
GLOBAL_LABELS = {"account_access": "Access to the account and its bills", "cancel_account": "Close the account"}
"""Labels of grants on the account whose names do not say enough."""
MAX_IDS = 100
"""The maximum number of ids that one form accepts."""


class IdsField(forms.CharField):
    """Ids, separated by commas or spaces."""

    def clean(self, value: Any) -> list[int]:
        words = super().clean(value).replace(",", " ").split()
        if len(words) > MAX_IDS or not all(map(is_id, words)):
            raise forms.ValidationError(f"Type at most {MAX_IDS} ids: numbers, separated by commas.")
        return [int(word) for word in words]


class GrantsForm(forms.Form):
    """A form with the user's present grants, and with fields for further ones.

    The cleaned data has only the changes: `on_account` and `on_entities`, as `set_grants` takes them.
    """

    def __init__(self, user: User, data: QueryDict | None = None):
        super().__init__(data)
        self.now = GlobalGrants.objects.filter(user=user).first() or GlobalGrants(user=user)
        self.shown = {each.field: each for each in named_grants(user)[:GRANTS_SHOWN]}
        for column in GlobalGrants._meta.concrete_fields:
            if column.primary_key:
                continue
            initial = getattr(self.now, column.name)
            if column.choices:
                field: forms.Field = forms.ChoiceField(choices=LEVELS, required=False, initial=initial or "")
            else:
                field = forms.BooleanField(required=False, initial=initial)
            field.label = GLOBAL_LABELS.get(column.name) or column.name.replace("_", " ").capitalize()
            self.fields[column.name] = field
        for name, each in self.shown.items():
            self.fields[name] = forms.ChoiceField(
                label=f"{each.kind} {each.label} ({each.key})", choices=LEVELS, required=False, initial=each.level
            )
        self.fields["kind"] = forms.ChoiceField(
            label="More objects: kind",
            help_text="To grant access to objects that are not listed above, choose their kind here.",
            choices=[(kind.name, kind.name) for kind in grantable()],
            required=False,
        )
        self.fields["ids"] = IdsField(
            label="More objects: ids",
            required=False,
            help_text=(
                "Such as 17, 23. Of an image private/5, type 5. If empty, no further grants change. At most"
                f" {MAX_IDS} ids."
            ),
        )
        self.fields["level"] = forms.ChoiceField(
            label="More objects: level",
            choices=LEVELS,
            required=False,
            initial=Level.READ_ONLY,
            help_text="What the user may do with the objects of these ids.",
        )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        on_account: dict[str, Any] = {}
        on_entities: dict[str, list[dict[str, Any]]] = {}
        for name in set(self.changed_data) & given.keys():
            if name in self.shown:
                each = self.shown[name]
                on_entities.setdefault(each.kind, []).append({"id": each.key, "permissions": given[name] or None})
            elif name not in ("kind", "ids", "level"):
                on_account[name] = given[name] if isinstance(given[name], bool) else given[name] or None
        for key in given.get("ids") or ():
            on_entities.setdefault(given["kind"], []).append({"id": key, "permissions": given["level"] or None})
        return {**given, "on_account": on_account, "on_entities": on_entities}
