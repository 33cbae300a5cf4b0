"""Forms that the verbs of several apps use."""

from typing import Any

from django import forms
from django.http import QueryDict

MAX_REASON_LENGTH = 200
READ_BY_CUSTOMERS = "The customer reads it in the account's events."


class ReasonForm(forms.Form):
    """The reason for a change that staff make to a customer's objects."""

    example = "Unpaid invoices since March"

    reason = forms.CharField(
        max_length=MAX_REASON_LENGTH,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )

    def __init__(self, obj: Any, data: QueryDict | None = None):
        super().__init__(data)
        text = f"Such as: {self.example}. At most {MAX_REASON_LENGTH} characters. {READ_BY_CUSTOMERS}"
        self.fields["reason"].help_text = self.fields["reason"].help_text or text
        self.obj = obj
