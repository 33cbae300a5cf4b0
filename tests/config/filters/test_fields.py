"""The strict parsers of filter values."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError

from config.filters import fields

WRONG = (ValueError, KeyError, OverflowError)


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        (fields.CharField, "A", "A"),
        (fields.CharField, "", ""),
        (fields.CaselessField, "A", "a"),
        (fields.IntegerField, -7, -7),
        (fields.IntegerField, 2**64, 2**64),
        (fields.DecimalField, 7, 7.0),
        (fields.DecimalField, 1.5, 1.5),
        (fields.BooleanField, False, False),
        (fields.DateTimeField, "2024-05-06T07:08:09.9", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        (fields.DateTimeField, "2024-05-06T07:08:09+01:00", datetime(2024, 5, 6, 6, 8, 9, tzinfo=UTC)),
        (fields.AddressField, "2001:DB8:0::1", "2001:db8::1"),
        (fields.AddressField, "192.0.2.1", "192.0.2.1"),
    ],
)
def test_a_json_value_of_the_right_type_is_read(field, value, read):
    assert field.from_json(value) == read
    assert type(field.from_json(value)) is type(read)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (fields.CharField, (7, None, True, [], {}, "a\x00")),
        (fields.CaselessField, (7, None, "a\x00")),
        (fields.IntegerField, ("7", 7.0, True, None, "", [])),
        (fields.DecimalField, ("1.5", True, None, float("nan"), float("inf"))),
        (fields.BooleanField, ("true", 1, 0, None, "")),
        (fields.DateTimeField, (7, "", "yesterday", "9999-12-31T23:59:59", None)),
        (fields.AddressField, (7, "", "192.0.2", "192.0.2.0/24", None)),
    ],
)
def test_a_json_value_of_another_type_is_refused(field, values):
    for value in values:
        with pytest.raises(WRONG):
            field.from_json(value)


@pytest.mark.parametrize(
    ("field", "text", "read"),
    [
        (fields.CharField, "", ""),
        (fields.CharField, " 7 ", " 7 "),
        (fields.IntegerField, "-7", -7),
        (fields.DecimalField, "1.5", 1.5),
        (fields.BooleanField, "TRUE", True),
        (fields.AddressField, "192.0.2.1", "192.0.2.1"),
    ],
)
def test_a_query_parameter_is_read(field, text, read):
    assert field.from_text(text) == read


@pytest.mark.parametrize(
    ("field", "texts"),
    [
        (fields.IntegerField, ("", "1_0", "١٠", " 10", "+10", "1.0", "9" * 5000)),
        (fields.DecimalField, ("", "nan", "inf", "1e999", "x")),
        (fields.BooleanField, ("", "1", "yes")),
        (fields.DateTimeField, ("", "yesterday")),
        (fields.AddressField, ("", "localhost")),
    ],
)
def test_an_empty_or_wrong_query_parameter_is_refused(field, texts):
    for text in texts:
        with pytest.raises(WRONG):
            field.from_text(text)


def test_parts_of_numbers_and_addresses_are_digits():
    for field in (fields.IntegerField, fields.DecimalField, fields.AddressField):
        assert (field.part_from_json(24), field.part_from_json("DB8")) == ("24", "db8")
        for value in (True, None, [], "\x00"):
            with pytest.raises(WRONG):
                field.part_from_json(value)


def test_a_form_takes_an_empty_input_for_no_value():
    for field in (fields.CharField, fields.IntegerField, fields.DateTimeField, fields.AddressField):
        assert field(required=False).clean("") is None
        with pytest.raises(ValidationError):
            field(required=True).clean("")
    assert fields.IntegerField(required=False).clean("7") == 7
    for field in (fields.IntegerField, fields.DateTimeField, fields.AddressField, fields.CharField):
        with pytest.raises(ValidationError):
            field(required=False).clean("\x00")
