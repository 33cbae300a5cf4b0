"""The navigation of the customer's pages: every noun of the platform, in groups."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from config import word


@dataclass(frozen=True, slots=True)
class Noun:
    """An entry. `page` names the URL of its list.

    A noun without pages yet has `sections` instead: the sections of the API's document that describe it.
    """

    slug: str
    label: str
    page: str = ""
    sections: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return reverse(self.page) if self.page else reverse("noun", args=[self.slug])


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    nouns: tuple[Noun, ...]


GROUPS = (
    Group(
        "Compute",
        (
            Noun("instances", "Instances", "instances"),
            Noun("volumes", "Volumes", sections=("volumes",)),
            Noun("images", "Images", sections=("images",)),
            Noun("scripts", "Deployment scripts", sections=(word.on_wire("compute stackscripts"),)),
        ),
    ),
    Group(
        "Network",
        (
            Noun("domains", "Domains", sections=("domains",)),
            Noun("load-balancers", "Load balancers", sections=("nodebalancers",)),
            Noun("firewalls", "Firewalls", sections=("networking firewalls",)),
            Noun("vlans", "VLANs", sections=("networking vlans",)),
            Noun("addresses", "IP addresses", sections=("networking ips", "networking ipv6")),
        ),
    ),
    Group(
        "Account",
        (
            Noun("monitoring", "Managed monitoring", sections=("managed",)),
            Noun("tags", "Tags", sections=("tags",)),
            Noun("tickets", "Support tickets", sections=("support",)),
            Noun("users", "Users and grants", sections=("account users",)),
            Noun("apps", "OAuth apps", sections=("account oauth-clients",)),
            Noun("account", "Account", sections=("account", "account settings", "account transfer")),
        ),
    ),
)
NOUNS = {noun.slug: noun for group in GROUPS for noun in group.nouns}


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: adds `navigation`, the groups with the address of each noun and whether it is shown now.

    Only templates that show the frame compute it.
    """
    return {"navigation": SimpleLazyObject(lambda: _shown(request.path))}


@dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    address: str
    current: bool


def _shown(path: str) -> list[tuple[str, list[_Entry]]]:
    def entry(noun: Noun) -> _Entry:
        address = noun.address
        return _Entry(noun.label, address, path == address or path.startswith(f"{address}/"))

    return [(group.label, [entry(noun) for noun in group.nouns]) for group in GROUPS]
