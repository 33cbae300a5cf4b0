"""Whole numbers and ids in texts."""

import pytest

from config.display.integers import is_id, is_integer


@pytest.mark.parametrize("text", ["0", "7", "007", "9" * 18])
def test_digits_are_an_id_and_a_number(text):
    assert is_id(text)
    assert is_integer(text)


@pytest.mark.parametrize("text", ["-7", "9" * 19, "-" + "9" * 20])
def test_numbers_that_no_key_column_holds_are_no_ids(text):
    assert is_integer(text)
    assert not is_id(text)


@pytest.mark.parametrize("text", ["", " 7", "7\n", "1_0", "+7", "7.0", "٧", "²", "9" * 21])
def test_other_texts_are_neither(text):
    assert not is_id(text)
    assert not is_integer(text)
