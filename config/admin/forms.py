"""Forms that the verbs of several apps use."""

from typing import Any

from django import forms
from django.http import QueryDict

LONGEST_REASON = 200
READ_BY_CUSTOMERS = "It stands in the account's event, for the customer to read too."


class ReasonForm(forms.Form):
    """The reason for what staff do to a customer's things."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text=READ_BY_CUSTOMERS,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )

    def __init__(self, obj: Any, data: QueryDict | None = None):
        super().__init__(data)
        self.obj = obj
