"""Recognises whole numbers and ids in texts of people: inputs of forms, query parameters, command lines."""

import re

_INTEGER = re.compile(r"-?[0-9]{1,20}").fullmatch
_ID = re.compile(r"[0-9]{1,18}").fullmatch
"""The number of digits that every key column can hold."""


def is_integer(text: str) -> bool:
    """Tell whether a text is a whole number in JSON notation.

    Python's `int` accepts ``1_0`` and Arabic digits too.
    """
    return _INTEGER(text) is not None


def is_id(text: str) -> bool:
    """Tell whether a text can be an id: digits only, and no more of them than a key column holds."""
    return _ID(text) is not None
