"""Sizes, prices, durations and amounts, formatted for people."""

from decimal import Decimal

from config.display.plurals import counted

MB_OF_GB = 1024
MB_OF_TRAFFIC = 1_000_000
"""The bytes of a MB of traffic."""
UNITS_OF_TIME = (("week", 604800), ("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
"""The units of durations with their length in seconds, the longest first."""


def size(megabytes: int) -> str:
    """Format MB for people: ``0 GB``, ``512 MB``, ``1.5 GB``, ``3,840 GB``."""
    if 0 < megabytes < MB_OF_GB:
        return f"{megabytes} MB"
    gigabytes = f"{megabytes / MB_OF_GB:,.2f}".rstrip("0").rstrip(".")
    return f"{gigabytes} GB"


def traffic(count: int) -> str:
    """Format bytes of traffic for people, with 1,000,000 bytes for each MB: ``0.25 MB``, ``3.8 GB``."""
    megabytes = count / MB_OF_TRAFFIC
    amount, unit = (megabytes / 1000, "GB") if megabytes >= 1000 else (megabytes, "MB")
    return f"{amount:,.2f}".rstrip("0").rstrip(".") + f" {unit}"


def milliseconds(value: float) -> str:
    """Format a number of milliseconds: ``0``, ``4.5 ms``, ``250 ms``, ``1.5 s``."""
    if value >= 1000:
        return f"{value / 1000:.2f}".rstrip("0").rstrip(".") + " s"
    if 0 < value < 10:
        return f"{value:.1f}".removesuffix(".0") + " ms"
    return f"{value:.0f} ms" if value else "0"


def price(dollars: float) -> str:
    """Format a price in dollars, with cents if there are any, or with all its decimals: ``$5``, ``$2.50``."""
    whole, _, decimals = f"{dollars:,.4f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"${whole}.{decimals:0<2}" if decimals else f"${whole}"


def dollars(amount: Decimal, decimals: int = 2) -> str:
    """Format an amount in dollars with a fixed number of decimals: ``$1,234.50``."""
    return f"${amount:,.{decimals}f}"


def duration(seconds: int) -> str:
    """Format a number of seconds in the largest unit that divides it: ``5 minutes``, ``1 day``, ``90 seconds``."""
    unit, length = next((unit, length) for unit, length in UNITS_OF_TIME if seconds % length == 0)
    return counted(seconds // length, unit)
