"""Forms that the verbs of several apps use."""

from typing import Any

from django import forms
from django.http import QueryDict

LONGEST_REASON = 200
READ_BY_CUSTOMERS = "The customer reads it in the account's events."


class ReasonForm(forms.Form):
    """The reason for a change that staff make to a customer's objects."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text=f"Such as: Unpaid invoices since March. At most {LONGEST_REASON} characters. {READ_BY_CUSTOMERS}",
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )

    def __init__(self, obj: Any, data: QueryDict | None = None):
        super().__init__(data)
        self.obj = obj
