"""DNS names as customers write them (RFC 1035), and the times that zones may have."""

import re
from functools import cache

from publicsuffixlist import PublicSuffixList

from compute.punycode import MAX_LABEL_LENGTH, to_ascii

VALID_SECONDS = (
    0, 300, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 345600, 604800, 1209600, 2419200,
)  # fmt: skip
"""The valid times of zones and records; 0 is the platform's default. Times in between are rounded up."""
DEFAULTS = {"expire_sec": 1209600, "refresh_sec": 14400, "retry_sec": 14400, "ttl_sec": 86400}
"""The defaults that 0 stands for, in seconds."""
MAX_NAME_LENGTH = 253

ZONE = re.compile(r"(\*\.)?([a-zA-Z0-9-_]{1,63}\.)+([a-zA-Z]{2,3}\.)?([a-zA-Z]{2,16}|xn--[a-zA-Z0-9-]+)", re.ASCII)
"""The contract's pattern of a domain. The last label may have hyphens if it is punycode (`.vermögensberater`)."""
_HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)", re.ASCII)
_NAME_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)", re.ASCII)
WRONG_ZONE = (
    "domain is not valid: letters, digits and hyphens only, in labels of 1-63 characters, the last of 2-16 letters"
)
NO_DOT = "domain must have at least two labels with a dot between them, as in example.com"


def wrong_zone(name: str) -> str:
    """Return the reason why a name that is not an `is_zone` cannot be a domain."""
    return WRONG_ZONE if "." in name.removeprefix("*.") else NO_DOT


def is_zone(name: str) -> bool:
    """Whether the name can be a domain on the platform."""
    return (
        len(name) <= MAX_NAME_LENGTH
        and ZONE.fullmatch(name) is not None
        and _all(_HOST_LABEL, name.removeprefix("*."))
    )


def is_suffix(name: str) -> bool:
    """Whether everybody can register names right below this one, as below ``co.uk``."""
    bare = name.removeprefix("*.").lower()
    return _suffixes().publicsuffix(bare) == bare


@cache
def _suffixes() -> PublicSuffixList:
    # only the suffixes of registries: those of companies, as github.io, are domains with an owner
    return PublicSuffixList(only_icann=True)


def is_host(name: str) -> bool:
    """Whether this can be the name of a host, with or without the dot at its end."""
    return is_alias(name) and _all(_HOST_LABEL, name.removesuffix("."))


def is_alias(name: str) -> bool:
    """Whether the name can be looked up: its labels may have underscores, and none is a wildcard."""
    bare = name.removesuffix(".")
    # a name that ends with a number is an IPv4 address
    return 0 < len(name) <= MAX_NAME_LENGTH and _all(_NAME_LABEL, bare) and not bare.rpartition(".")[2].isdigit()


def is_mailbox(email: str) -> bool:
    """Whether an SOA record can have this address, as a name: the user as one label in front of the host's name."""
    user, _, host = email.rpartition("@")
    return 0 < len(user) <= MAX_LABEL_LENGTH and user.isascii() and is_host(host) and len(email) <= MAX_NAME_LENGTH


def is_name(name: str) -> bool:
    """Whether a record can have this name: one to look up, or a wildcard in front of one."""
    return len(name) <= MAX_NAME_LENGTH and is_alias("x" if name == "*" else name.removeprefix("*."))


def relative(name: str, zone: str) -> str:
    """Return a record's stored name: relative to the zone, in punycode and lower case, "" for the zone itself.

    ``www``, ``www.example.com`` and ``www.example.com.`` are the same name in the zone ``example.com``.
    """
    name, zone = to_ascii(name.strip()), zone.lower()
    # letters such as the Kelvin sign, of which lower() makes ASCII, stay as they are: for `is_name` to refuse
    bare = (name.lower() if name.isascii() else name).removesuffix(".")
    if bare in ("", "@", zone):
        return ""
    return bare.removesuffix(f".{zone}")


def seconds(wished: int) -> int:
    """Return the smallest valid number of seconds that is at least `wished`; if there is none, the largest valid
    one."""
    return next((valid for valid in VALID_SECONDS if valid >= wished), VALID_SECONDS[-1])


def _all(label: re.Pattern[str], name: str) -> bool:
    return all(label.fullmatch(part) for part in name.split("."))
