"""Form fields that read the values of filters strictly.

Django's form fields accept ``"7"`` for the number 7, and 7 for a text. Here, each field defines which JSON values
and which texts of a query string are valid. In a form, the fields behave as Django's: an empty input is no value.
"""

from datetime import UTC, date, datetime, timedelta
from ipaddress import ip_address
from math import isfinite
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from config.display.integers import is_integer

SECOND = timedelta(seconds=1)


class StrictField(forms.Field):
    """Base of the fields. The readers raise `ValueError`, `KeyError` or `OverflowError` for values of other types.

    The readers need no instance, because filters read values without making a form.
    """

    default_error_messages = {"invalid": "Enter a valid value."}

    @staticmethod
    def from_json(value: Any) -> Any:
        """Read a value of the ``X-Filter`` header."""
        raise NotImplementedError

    @classmethod
    def from_text(cls, text: str) -> Any:
        """Read a query parameter. An empty text is a value as well."""
        return cls.from_json(text)

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        """Read the value of ``+contains``, which is a part of the field's text."""
        return cls.from_json(value)

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        try:
            return self.from_text(value)
        except (ValueError, KeyError, OverflowError):
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None


class CharField(StrictField, forms.CharField):
    """A text without NUL, which PostgreSQL cannot store."""

    @staticmethod
    def from_json(value: Any) -> str:
        if not isinstance(value, str) or "\x00" in value:
            raise ValueError
        return value


class CaselessField(CharField):
    """A text whose column stores lower case."""

    @staticmethod
    def from_json(value: Any) -> str:
        return CharField.from_json(value).lower()


def digits_from_json(value: Any) -> str:
    """Read a part of a number or of an address. PostgreSQL writes addresses in lower case."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return CaselessField.from_json(value)


class IntegerField(StrictField, forms.IntegerField):
    """A whole number of any size."""

    @staticmethod
    def from_json(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError
        return value

    @classmethod
    def from_text(cls, text: str) -> int:
        if not is_integer(text):
            raise ValueError
        return int(text)

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        return digits_from_json(value)


class DecimalField(StrictField, forms.FloatField):
    """A finite number."""

    @staticmethod
    def from_json(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValueError
        return float(value)

    @classmethod
    def from_text(cls, text: str) -> float:
        return cls.from_json(float(text))

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        return digits_from_json(value)


class BooleanField(StrictField, forms.NullBooleanField):
    """True or false. A form offers a choice of yes, no and unknown."""

    @staticmethod
    def from_json(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    @classmethod
    def from_text(cls, text: str) -> bool:
        return {"true": True, "false": False}[text.lower()]

    def to_python(self, value: Any) -> Any:
        return forms.NullBooleanField.to_python(self, value)  # of the widget, which reads texts itself


class DateTimeField(StrictField, forms.DateTimeField):
    """A time in ISO 8601, in UTC if it has no offset. Fractions of the second are dropped."""

    @staticmethod
    def from_json(value: Any) -> datetime:
        moment = datetime.fromisoformat(CharField.from_json(value))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        moment + SECOND  # raises for the last second of time, whose range would raise later
        return moment.replace(microsecond=0)


class DayField(StrictField, forms.DateField):
    """A day, such as ``2026-11-27``."""

    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")

    @staticmethod
    def from_json(value: Any) -> date:
        day = date.fromisoformat(CharField.from_json(value))
        day + timedelta(days=1)  # raises for the last day of time, whose end would raise later
        return day


class AddressField(StrictField, forms.GenericIPAddressField):
    """An IPv4 or IPv6 address in any notation."""

    @staticmethod
    def from_json(value: Any) -> str:
        return str(ip_address(CharField.from_json(value)))

    @classmethod
    def part_from_json(cls, value: Any) -> str:
        return digits_from_json(value)
