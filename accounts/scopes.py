"""OAuth scopes: ``family:read_only`` and ``family:read_write``, or ``*`` for everything."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from config import word

ALL = "*"
READ_ONLY, READ_WRITE = "read_only", "read_write"
OFFERED = {
    "account": "your account, its users and tokens",
    "computes": word.on_wire("compute instances"),
    "domains": "domains and their records",
    "events": "events",
    "firewall": "firewalls",
    "images": "images",
    "ips": "IP addresses",
    "nodebalancers": "load balancers",
    "stackscripts": "deployment scripts",
    "volumes": "volumes",
}
"""The families of scopes of this platform, each with its name in plain words for the pages."""

FAMILIES = OFFERED | {
    "databases": "managed databases (not offered here)",
    "lke": "Kubernetes clusters (not offered here)",
    "longview": "monitoring clients (not offered here)",
    "object_storage": "object storage (not offered here)",
}
"""All families. The platform has no endpoints for the last four. Tokens may have these scopes, because clients
request them."""

VERBS = {READ_ONLY: "See", READ_WRITE: "See, create, change and delete"}
NONE = "At least one scope is required"
KNOWN = {ALL, *(f"{family}:{level}" for family in FAMILIES for level in (READ_ONLY, READ_WRITE))}


@lru_cache(maxsize=1024)
def split_scopes(scopes: str) -> tuple[str, ...]:
    """Return the scopes of a space- or comma-separated list, without duplicates, in the order given."""
    return tuple(dict.fromkeys(scopes.replace(",", " ").split()))


def parse_scopes(scopes: str) -> tuple[str, ...]:
    """Return the scopes of a list in their neutral form, as `split_scopes` does.

    Raises `ValueError` for an empty list, and with the name of the first unknown scope. ``*`` replaces all others.
    """
    found = split_scopes(scopes)
    for scope in found:
        if scope not in KNOWN:
            raise ValueError(f"Unknown scope: {scope[:80]}")
    if not found:
        raise ValueError(NONE)
    return (ALL,) if ALL in found else found


def read_scopes(sent: str) -> tuple[str, ...]:
    """Return the scopes of a list that a client sent with the word of the installation (`config.word`).

    Raises `ValueError` as `parse_scopes` does, with the name as the client sent it.
    """
    for scope in split_scopes(sent):
        if word.read(scope) not in KNOWN:
            raise ValueError(f"Unknown scope: {scope[:80]}")
    return parse_scopes(word.read(sent))


def includes(granted: Iterable[str], wanted: Iterable[str]) -> bool:
    """Tell whether a token with the scopes `granted` may do everything that `wanted` allow. read_write includes
    read_only.
    """
    granted = set(granted)
    return ALL in granted or all(
        scope in granted
        or (scope.endswith(f":{READ_ONLY}") and f"{scope.partition(':')[0]}:{READ_WRITE}" in granted)
        for scope in wanted
    )


def describe(scope: str) -> str:
    """Describe a known scope in plain words: ``computes:read_only`` is "See compute instances"."""
    if scope == ALL:
        return "Everything: see, create, change and delete all that you can, your account included"
    family, _, level = scope.partition(":")
    return f"{VERBS[level]} {FAMILIES[family]}"


def describe_all(scopes: Sequence[str]) -> list[str]:
    """Describe each of `scopes` in plain words, without scopes that another of them includes."""
    return [
        describe(scope)
        for scope in scopes
        if not any(other != scope and includes([other], [scope]) for other in scopes)
    ]


def document(result: dict[str, Any], **of_the_generator: Any) -> dict[str, Any]:
    """Name the scopes that clients can request in the OpenAPI document, the `result` of the generator."""
    named = {ALL: "Everything"}
    for level, verb in ((READ_ONLY, "Read"), (READ_WRITE, "Read and change")):
        named |= {f"{family}:{level}": f"{verb} {what}" for family, what in FAMILIES.items()}
    named["ips:read"] = "Another name of ips:read_only, in the list of one operation; ask for ips:read_only"
    flow = result["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"]
    flow["scopes"] = named
    return result
