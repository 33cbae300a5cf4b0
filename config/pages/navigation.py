"""The navigation of the customer's pages: every noun of the platform, in groups."""

from collections.abc import Callable
from dataclasses import dataclass

from django.urls import reverse

from config.pages.grants import ACCOUNT_READ, UNRESTRICTED


@dataclass(frozen=True, slots=True)
class Noun:
    """An entry. `page` names the URL of its list. If it has a `grant`, other users do not see the entry."""

    slug: str
    label: str
    page: str
    grant: str = ""

    @property
    def address(self) -> str:
        return reverse(self.page)


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    nouns: tuple[Noun, ...]


GROUPS = (
    Group(
        "Compute",
        (
            Noun("instances", "Instances", "instances"),
            Noun("volumes", "Volumes", "volumes"),
            Noun("images", "Images", "images"),
            Noun("scripts", "Deployment scripts", "scripts"),
        ),
    ),
    Group(
        "Network",
        (
            Noun("domains", "Domains", "domains"),
            Noun("load-balancers", "Load balancers", "load-balancers"),
            Noun("firewalls", "Firewalls", "firewalls"),
            Noun("vlans", "VLANs", "vlans"),
            Noun("addresses", "IP addresses", "addresses"),
        ),
    ),
    Group(
        "Account",
        (
            Noun("monitoring", "Managed monitoring", "monitoring", grant=UNRESTRICTED),
            Noun("tags", "Tags", "tags"),
            Noun("tickets", "Support tickets", "tickets", grant=ACCOUNT_READ),
            Noun("users", "Users and grants", "users", grant=UNRESTRICTED),
            Noun("apps", "OAuth apps", "apps", grant=ACCOUNT_READ),
            Noun("events", "Events", "events"),
            Noun("usage", "Usage", "usage", grant=ACCOUNT_READ),
            Noun("quotas", "Quotas", "quotas", grant=ACCOUNT_READ),
            Noun("account", "Account", "account", grant=ACCOUNT_READ),
        ),
    ),
)
NOUNS = {noun.slug: noun for group in GROUPS for noun in group.nouns}


@dataclass(frozen=True, slots=True)
class Entry:
    label: str
    address: str
    current: bool


def entries(path: str, may: Callable[[str], bool]) -> list[tuple[str, list[Entry]]]:
    """Return the groups with the entries that a user sees on the page with this path.

    `may` tells whether the user has a grant.
    """

    def entry(noun: Noun) -> Entry:
        address = noun.address
        return Entry(noun.label, address, path == address or path.startswith(f"{address}/"))

    return [
        (group.label, [entry(noun) for noun in group.nouns if not noun.grant or may(noun.grant)])
        for group in GROUPS
    ]
