"""Sizes and prices as people read them."""

MB_OF_GB = 1024


def size(megabytes: int) -> str:
    """MB as people read them: ``25 GB``, ``512 MB``, ``1.5 GB``."""
    if megabytes < MB_OF_GB:
        return f"{megabytes} MB"
    return f"{megabytes / MB_OF_GB:.4g} GB"


def price(dollars: float) -> str:
    """A price in dollars, with cents if there are any, or with as many decimals as it needs: ``$5``, ``$2.50``."""
    whole, _, decimals = f"{dollars:,.4f}".partition(".")
    decimals = decimals.rstrip("0")
    return f"${whole}.{decimals:0<2}" if decimals else f"${whole}"
