"""The base class of the pages of one domain, and the choices of its times."""

from typing import Any

from accounts.pages.objects import ObjectPage
from compute.models import Domain
from compute.services.common.dns_names import DEFAULTS, VALID_SECONDS
from config.display.quantities import duration

TABS = (
    ("domain", "Records"),
    ("domain-zone-file", "Zone file"),
    ("domain-activity", "Activity"),
    ("domain-settings", "Settings"),
)
"""The pages of a domain: the name of the URL, and the label of the tab."""

EMAIL_HELP = "The mail address is published in the DNS."
ADDRESSES_HELP = "IP addresses, separated by commas."


class DomainPage(ObjectPage):
    """A page of one domain that the user may see."""

    model = Domain
    noun = "domains"
    home = "domain"
    tab_pages = TABS
    tabs_of_changes = frozenset({"domain-settings"})

    @property
    def domain(self) -> Domain:
        found: Domain = self.object
        return found

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        here = str(self.domain) if self.tab == self.home else dict(TABS).get(self.tab)
        return super().get_context_data(domain=self.domain, here=here, **kwargs)


def times(default: int) -> list[tuple[int, str]]:
    """Return the choices of a time in seconds. `default` is the time that 0 stands for."""
    return [(0, f"default: {duration(default)}"), *((time, duration(time)) for time in VALID_SECONDS if time)]


def ttl_of(domain: Domain) -> int:
    """Return the seconds for which other servers may cache the domain's records, unless a record has its own."""
    return domain.ttl_sec or DEFAULTS["ttl_sec"]
