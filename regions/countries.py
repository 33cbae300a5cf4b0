"""The names of the countries with regions, for people."""

NAMES = {
    "au": "Australia", "br": "Brazil", "ca": "Canada", "ch": "Switzerland", "de": "Germany", "es": "Spain",
    "fi": "Finland", "fr": "France", "gb": "United Kingdom", "id": "Indonesia", "ie": "Ireland", "in": "India",
    "it": "Italy", "jp": "Japan", "kr": "South Korea", "nl": "Netherlands", "no": "Norway", "pl": "Poland",
    "se": "Sweden", "sg": "Singapore", "uk": "United Kingdom", "us": "United States", "za": "South Africa",
}  # fmt: skip
"""English names by ISO 3166 code. The catalogue also has `uk`, the code that its clients use."""


def country_name(code: str) -> str:
    """Return the name of a country, or its code in capitals if the name is not listed."""
    return NAMES.get(code, code.upper())
