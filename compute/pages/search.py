"""Search over the objects that the user may see."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Model, Q
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.entities import EntityKind, kinds
from accounts.pages.base import AccountPage
from config.display.integers import is_id
from config.pages.navigation import NOUNS

MAX_LENGTH = 100
FOUND_SHOWN = 10
"""Objects of each kind that are shown at most."""
NOUN_OF_KIND = {
    "compute": "instances", "volume": "volumes", "image": "images", "stackscript": "scripts", "domain": "domains",
    "nodebalancer": "load-balancers", "firewall": "firewalls", "vlan": "vlans", "tag": "tags",
}  # fmt: skip
"""The entry of the navigation for each kind of entity that the search finds."""
PAGE_OF_KIND = {"compute": "instance"}
"""The URL name of an object's page. Objects of other kinds link to the page of their noun."""


@dataclass(frozen=True, slots=True)
class Found:
    """Objects of one noun: pairs of label and address. `more` is whether there are others."""

    noun: str
    objects: list[tuple[str, str]]
    more: bool


class SearchView(AccountPage, TemplateView):
    """``/home/search?q=words``: objects whose label contains the words; instances also by id, address and tag."""

    template_name = "compute/search.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        words = self.request.GET.get("q", "").replace("\0", "").strip()[:MAX_LENGTH]
        return super().get_context_data(words=words, found=list(search(self.actor, words)), **kwargs)


def search(actor: Actor, words: str) -> list[Found]:
    """The objects that the actor may see and that match `words`, by noun. One query for each kind."""
    if not words:
        return []
    by_noun = {NOUN_OF_KIND[kind.name]: kind for kind in kinds() if kind.name in NOUN_OF_KIND}
    found = (_of_kind(actor, slug, by_noun[slug], words) for slug in NOUNS if slug in by_noun)
    return [each for each in found if each.objects]


def _of_kind(actor: Actor, slug: str, kind: EntityKind, words: str) -> Found:
    # every kind of NOUN_OF_KIND has owners, so its manager has `visible_to`
    rows = kind.model._default_manager.visible_to(actor)  # type: ignore[attr-defined]
    matching = rows.filter(_matches(kind.name, words)).order_by("label", "pk")[: FOUND_SHOWN + 1]
    objects = [(str(each), _address(slug, kind.name, each)) for each in matching]
    return Found(NOUNS[slug].label, objects[:FOUND_SHOWN], len(objects) > FOUND_SHOWN)


def _matches(kind: str, words: str) -> Q:
    wanted = Q(label__icontains=words)
    if kind == "compute":
        wanted |= Q(ipv4__contains=[words]) | Q(ipv6__startswith=words) | Q(tags__contains=[words])
        if is_id(words):
            wanted |= Q(pk=int(words))
    return wanted


def _address(slug: str, kind: str, found: Model) -> str:
    page = PAGE_OF_KIND.get(kind)
    return reverse(page, args=[found.pk]) if page else NOUNS[slug].address
