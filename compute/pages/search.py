"""Search over the objects that the user may see."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.http import urlencode
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.entities import EntityKind, kinds
from accounts.models import Ticket, User
from accounts.pages.base import AccountPage
from accounts.pages.entity_pages import address_of, may_open
from compute.models import IPv6Range
from config.display.integers import is_id
from config.pages.filtered import FilteredPage
from config.pages.navigation import NOUNS

MAX_LENGTH = 100
FOUND_SHOWN = 10
"""Objects of each kind that are shown at most."""


@dataclass(frozen=True, slots=True)
class Found:
    """Objects of one noun: pairs of label and address. `more` is whether there are others."""

    noun: str
    objects: list[tuple[str, str]]
    more: bool


class SearchView(AccountPage, FilteredPage, TemplateView):
    """``/home/search?q=words``: objects whose label contains the words; instances also by id, address and tag.

    Users are found by name and email, tickets by summary and number, and IPv6 ranges by address.
    """

    template_name = "compute/search.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        words = self.request.GET.get("q", "").replace("\0", "").strip()[:MAX_LENGTH]
        found = [] if self.refusal else search(self.actor, words)
        return super().get_context_data(words=words, found=found, **kwargs)


def search(actor: Actor, words: str) -> list[Found]:
    """The objects that the actor may see and that match `words`, by noun. One query for each kind."""
    if not words:
        return []
    searches: dict[str, Search] = {kind.noun: partial(_of_kind, kind) for kind in kinds() if kind.noun}
    searches |= OF_ACCOUNT
    nouns = (noun for noun in NOUNS.values() if noun.slug in searches and may_open(actor, noun))
    found = (searches[noun.slug](actor, words) for noun in nouns)
    return [each for each in found if each.objects]


def _found(noun: str, rows: QuerySet[Any], address: Callable[[Any], str]) -> Found:
    """Return the first rows as pairs of label and address. One query."""
    objects = [(str(each), address(each)) for each in rows[: FOUND_SHOWN + 1]]
    return Found(noun, objects[:FOUND_SHOWN], len(objects) > FOUND_SHOWN)


def _of_kind(kind: EntityKind, actor: Actor, words: str) -> Found:
    # every kind with a noun has owners, so its manager has `visible_to`
    rows = kind.model._default_manager.visible_to(actor)  # type: ignore[attr-defined]
    matching = rows.filter(_matches(kind.name, words)).order_by("label", "pk")
    return _found(NOUNS[kind.noun].label, matching, partial(address_of, kind))


def _ranges(actor: Actor, words: str) -> Found:
    """Search IPv6 ranges by a part of the address, in any notation if it is a whole one. A length may follow."""
    address = words.partition("/")[0]
    try:
        address = str(IPv6Address(address))
    except ValueError:
        address = address.lower()  # a part of an address
    rows = IPv6Range.objects.shown_to(actor).filter(range__contains=address or words).order_by("range")
    return _found("IPv6 ranges", rows, lambda row: f"{reverse('ranges')}?{urlencode({'range': row.range})}")


def _tickets(actor: Actor, words: str) -> Found:
    wanted = Q(summary__icontains=words)
    if is_id(words):
        wanted |= Q(pk=int(words))
    rows = Ticket.objects.visible_to(actor).filter(wanted).order_by("-pk")
    return _found(NOUNS["tickets"].label, rows, lambda row: reverse("ticket", args=[row.pk]))


def _users(actor: Actor, words: str) -> Found:
    wanted = Q(username__icontains=words) | Q(email__icontains=words)
    rows = User.objects.filter(wanted, account_id=actor.account_id).order_by("username")
    return _found(NOUNS["users"].label, rows, lambda row: reverse("user", args=[row.pk]))


Search = Callable[[Actor, str], Found]
OF_ACCOUNT: dict[str, Search] = {"addresses": _ranges, "tickets": _tickets, "users": _users}
"""The searches for objects that are no kinds of entity with labels, by the slugs of their nouns."""


def _matches(kind: str, words: str) -> Q:
    wanted = Q(label__icontains=words)
    if kind == "compute":
        wanted |= Q(ipv4__contains=[words]) | Q(ipv6__startswith=words) | Q(tags__contains=[words])
        if is_id(words):
            wanted |= Q(pk=int(words))
    return wanted
