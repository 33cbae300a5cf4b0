"""Recognise whole numbers and ids in texts of people: inputs of forms, query parameters, command lines."""

import re

_INTEGER = re.compile(r"-?[0-9]{1,20}").fullmatch
_ID = re.compile(r"[0-9]{1,18}").fullmatch
"""As many digits as every key column can hold."""


def is_integer(text: str) -> bool:
    """Whether a text is a whole number as JSON writes it. Python's `int` takes ``1_0`` and Arabic digits too."""
    return _INTEGER(text) is not None


def is_id(text: str) -> bool:
    """Whether a text can be an id: digits only, and no more of them than a key column holds."""
    return _ID(text) is not None
