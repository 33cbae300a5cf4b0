"""Rules that many firewalls have, to start from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EVERYWHERE: Mapping[str, list[str]] = {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]}
"""All addresses, as a rule has them."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A rule that accepts the traffic of a common service, from or to all addresses."""

    words: str
    label: str
    protocol: str = "TCP"
    ports: str = ""

    def rule(self) -> dict[str, Any]:
        """Return the rule as the API has it."""
        ports = {"ports": self.ports} if self.ports else {}
        rule = {"action": "ACCEPT", "protocol": self.protocol, **ports, "label": self.label}
        return {**rule, "addresses": {family: list(found) for family, found in EVERYWHERE.items()}}


PRESETS: Mapping[str, Preset] = {
    "ssh": Preset("SSH (TCP 22)", "ssh", ports="22"),
    "http": Preset("HTTP (TCP 80)", "http", ports="80"),
    "https": Preset("HTTPS (TCP 443)", "https", ports="443"),
    "ping": Preset("Ping and other ICMP", "ping", "ICMP"),
}
"""The presets by the names that forms send."""
