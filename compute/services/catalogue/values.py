"""The types of values in a catalogue file. Each reader takes a value of YAML or JSON, and returns the column's
value.

Readers raise `ValueError` with a sentence about the value.
"""

import re
from collections.abc import Callable, Collection
from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any

from accounts.quotas import RESOURCE_QUOTAS
from config import word

Reader = Callable[[Any], Any]

MAX_INTEGER = 2_147_483_647
"""The largest whole number that a column takes."""
SIZE = re.compile(r"([0-9]+) ?(MB|GB|TB)")
UNITS = {"MB": 1, "GB": 1024, "TB": 1024**2}
MAX_PRICE = 999_999
"""The largest price in USD. Usage stores prices with six digits before the point and six after it."""
SMALLEST_PRICE = Decimal("0.000001")


def text(longest: int, *, empty: bool = False) -> Reader:
    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("Must be text; in quotes, where it looks like something else.")
        if not value and not empty:
            raise ValueError("Must not be empty.")
        if len(value) > longest:
            raise ValueError(f"Must have {longest} characters at most.")
        if any(not character.isprintable() and character not in "\n\t" for character in value):
            raise ValueError("Must have no control characters.")
        return value

    return read


def name(longest: int, pattern: str, meaning: str) -> Reader:
    """Return the reader of an id, which clients write into paths."""
    plain = text(longest)

    def read(value: Any) -> str:
        found: str = plain(value)
        if not re.fullmatch(pattern, found, re.ASCII):
            raise ValueError(f"Must be {meaning}.")
        return found

    return read


def slug(longest: int) -> Reader:
    return name(longest, r"[a-zA-Z0-9_-]+", "letters, digits, dashes and underscores")


def official(value: Any) -> str:
    """The id of a kernel or an official image: ``compute/debian12``."""
    found: str = name(64, r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)+", "an id such as compute/debian12")(value)
    if word.to_neutral(found) != found:
        raise ValueError(f"Must have the neutral word, in rows and files: {word.to_neutral(found)}.")
    if found.startswith("private/"):
        raise ValueError("Must not begin with private/: those are customers'.")
    return found


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("Must be true or false.")
    return value


def number(least: int = 0, most: int = MAX_INTEGER) -> Reader:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("Must be a whole number.")
        if not least <= value <= most:
            raise ValueError(f"Must be from {least} to {most}.")
        return value

    return read


def size(value: Any) -> int:
    """A size in MB, or with its unit: ``64 GB``."""
    found = capacity(value)
    if not found:
        raise ValueError("Must be more than 0.")
    return found


def capacity(value: Any) -> int:
    """As `size`, or None."""
    if isinstance(value, str) and (found := SIZE.fullmatch(value)):
        value = int(found[1]) * UNITS[found[2]]
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("Must be a number of MB, or a size such as 64 GB.")
    result: int = number()(value)
    return result


def price(value: Any) -> float:
    """A price in USD."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("Must be a number of USD.")
    if not 0 <= value <= MAX_PRICE:
        raise ValueError(f"Must be from 0 to {MAX_PRICE}.")
    return float(value)


def exact_price(value: Any) -> Decimal:
    """A price in USD, exact to six digits after the point."""
    found = Decimal(str(price(value)))  # a float's shortest form is the number in the file
    if found % SMALLEST_PRICE:
        raise ValueError("Must have six digits after the point at most.")
    return found


def limits(value: Any) -> dict[str, int]:
    """Limits by names of `RESOURCE_QUOTAS`. A quota with null has no limit, like a quota that is missing."""
    if not isinstance(value, dict):
        raise ValueError("Must be numbers by names of quotas, such as instances: 10.")
    found, wrong = {}, []
    for name, limit in value.items():
        quota = RESOURCE_QUOTAS.get(name)
        if quota is None:
            wrong.append(f"There is no quota {name}. Use one of: {', '.join(RESOURCE_QUOTAS)}.")
            continue
        if limit is None:
            continue
        try:
            found[name] = (_LIMITS_IN.get(quota.unit) or number())(limit)
        except ValueError as error:
            wrong.append(f"{name}: {error}")
    if wrong:
        raise ValueError(" ".join(wrong))
    return found


def gigabytes(value: Any) -> int:
    """A number of GB, or with its unit: ``10 TB``."""
    if not isinstance(value, str):
        result: int = number()(value)
        return result
    try:
        megabytes = capacity(value)
    except ValueError:
        megabytes = 1
    if megabytes % UNITS["GB"]:
        raise ValueError("Must be a number of GB, or a size such as 10 TB.")
    return megabytes // UNITS["GB"]


_LIMITS_IN: dict[str, Reader] = {"MB": capacity, "GB": gigabytes}


def one_of(choices: Collection[str]) -> Reader:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"Must be one of {', '.join(choices)}.")
        return str(value)

    return read


def texts(longest: int) -> Reader:
    one = text(longest)

    def read(value: Any) -> list[str]:
        if not isinstance(value, list):
            raise ValueError("Must be a list.")
        found = [one(each) for each in value]
        if len(set(found)) < len(found):
            raise ValueError("Must name each once.")
        return found

    return read


def country(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-zA-Z]{2}", value):
        raise ValueError("Must be two letters of ISO 3166, such as no.")
    return value.lower()


def addresses(version: int) -> Reader:
    """Return the reader of a list of addresses, which the column stores separated by commas."""

    def read(value: Any) -> str:
        if not isinstance(value, list):
            raise ValueError("Must be a list of addresses.")
        return ",".join(address(version)(each) for each in value)

    return read


def address(version: int | None = None) -> Reader:
    def read(value: Any) -> str:
        try:
            found = ip_address(value if isinstance(value, str) else "")
        except ValueError:
            raise ValueError(f"{value!r} is not an address.") from None
        if version and found.version != version:
            raise ValueError(f"{value} is not an address of IPv{version}.")
        return str(found)

    return read


def network(value: Any) -> str:
    """A network in CIDR notation, in its canonical form."""
    try:
        if not isinstance(value, str) or "/" not in value:
            raise ValueError
        return str(ip_network(value))
    except ValueError as error:
        raise ValueError(f"{value!r} is not a network such as 198.51.100.0/24{_why(error)}.") from None


def _why(error: ValueError) -> str:
    return ": it has host bits set" if "host bits" in str(error) else ""


def moment(value: Any) -> datetime:
    """A time in UTC, or the start of a day: ``2030-06-30T12:00:00``, ``2030-06-30``."""
    try:
        if not isinstance(value, str):
            raise ValueError
        found = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("Must be a day such as 2030-06-30, or a time such as 2030-06-30T12:00:00.") from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def optional(reader: Reader) -> Reader:
    """As `reader`, or null for None."""
    return lambda value: None if value is None else reader(value)


# --- the other way, for exports ---------------------------------------------------------------------------


def written(value: Any) -> Any:
    """Return a column's value as a file has it."""
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None)
        return (value.date() if value.time() == value.min.time() else value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, list | tuple) else value
