"""Sizes and prices, formatted for people."""

MB_OF_GB = 1024


def size(megabytes: int) -> str:
    """Format MB for people: ``512 MB``, ``1.5 GB``, ``3,840 GB``."""
    if megabytes < MB_OF_GB:
        return f"{megabytes} MB"
    gigabytes = f"{megabytes / MB_OF_GB:,.2f}".rstrip("0").rstrip(".")
    return f"{gigabytes} GB"


def price(dollars: float) -> str:
    """Format a price in dollars, with cents if there are any, or with all its decimals: ``$5``, ``$2.50``."""
    whole, _, decimals = f"{dollars:,.4f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"${whole}.{decimals:0<2}" if decimals else f"${whole}"
