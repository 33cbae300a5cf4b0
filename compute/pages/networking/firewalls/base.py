"""Base classes of the pages of one firewall."""

from typing import Any

from accounts.pages.objects import ObjectConfirmationPage, ObjectFormPage, ObjectPage
from compute.models import Firewall

LABEL_HELP = (
    "3 to 32 letters, digits, dashes, underscores and dots. The first is a letter. No -- or __ or .. in it."
)


class FirewallPage(ObjectPage):
    """A page of one firewall that the user may see."""

    model = Firewall
    noun = "firewalls"
    home = "firewall"

    @property
    def firewall(self) -> Firewall:
        found: Firewall = self.object
        return found

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(firewall=self.firewall, **kwargs)


class FirewallFormPage(FirewallPage, ObjectFormPage):
    """A page with one form about a firewall. It redirects to the firewall's page."""


class FirewallConfirmationPage(FirewallPage, ObjectConfirmationPage):
    """A page that asks before it does something to a firewall."""
