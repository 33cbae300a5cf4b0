"""Cells of CSV files that people open in spreadsheets."""

from typing import Any

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""The first characters of texts that a spreadsheet would read as formulas.

Customers choose labels, and staff open the files.
"""


def harmless(value: Any) -> str:
    """Return the value as one line of text. If a spreadsheet would read a formula, a quote is put before it."""
    text = " ".join(str(value).split())
    return f"'{text}" if text.startswith(FORMULAS) else text
