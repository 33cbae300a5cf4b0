"""A packet filter in words, for staff: the rules by which a host should filter an instance."""

from collections.abc import Iterator, Mapping
from typing import Any

from compute.services.networking.firewalls.delivery import Wanted
from compute.services.networking.firewalls.mail_ports import MAIL_PORTS

NOTHING = "Nothing is filtered."
SIDES = {"inbound": "from", "outbound": "to"}


def summary(wanted: Wanted) -> str:
    """Return a line for each rule in its order, then the policy of each direction."""
    lines = []
    if wanted.mail_ports_closed:
        lines.append(f"outbound: DROP TCP {', '.join(map(str, MAIL_PORTS))} (mail ports)")
    for direction, side in SIDES.items() if wanted.rules is not None else ():
        lines += _lines(wanted.rules or {}, direction, side)
    return "\n".join(lines) or NOTHING


def _lines(rules: Mapping[str, Any], direction: str, side: str) -> Iterator[str]:
    for rule in rules.get(direction) or ():
        networks = [each for found in rule["addresses"].values() for each in found or ()]
        words = [rule["action"], rule["protocol"], rule.get("ports") or "", side, ", ".join(networks)]
        label = f" ({rule['label']})" if rule.get("label") else ""
        yield f"{direction}: {' '.join(filter(None, words))}{label}"
    yield f"{direction}: {rules[f'{direction}_policy']} everything else"
