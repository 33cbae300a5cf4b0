"""Links to the pages of entities that events and tickets name by value, and the names that a user may read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db.models import Model, QuerySet
from django.urls import reverse

from accounts.actors import Actor
from accounts.entities import grantable, key_of_slug, kinds
from accounts.models import Event, OAuthClient, Ticket, User
from accounts.pages.entity_pages import may_open
from config.display.integers import is_id
from config.pages.grants import ACCOUNT_READ, UNRESTRICTED, granted
from config.pages.navigation import NOUNS

Key = tuple[str, int]
"""The kind and the key of an entity."""
OF_ACCOUNT: Mapping[str, tuple[type[Model], str, str]] = {
    "user": (User, "user", UNRESTRICTED),
    "oauth_client": (OAuthClient, "app", ACCOUNT_READ),
    "ticket": (Ticket, "ticket", ACCOUNT_READ),
}
"""The kinds that belong to the account as a whole: the model, the name of the page's URL, and the page's grant."""


def key_of(kind: str, text: str, url: str) -> Key | None:
    """Return the key of an entity that is named by kind, id and path, or None if it is no entity of its own.

    A part of an entity has a longer path, such as a record of a domain. A public image has another slug.
    """
    for named in kinds():
        if named.name == kind:
            found = key_of_slug(text) if named.prefix else (kind, int(text)) if is_id(text) else None
            return found if found is not None and url == named.url.format(id=found[1]) else None
    return (kind, int(text)) if kind in OF_ACCOUNT and is_id(text) else None


def main_key(event: Event) -> Key | None:
    """Return the key of the entity that an event is about."""
    return None if event.entity_id is None else (event.entity_type, event.entity_id)


def secondary_key(event: Event) -> Key | None:
    """Return the key of the second entity of an event, unless this is a part of the first one."""
    return key_of(event.secondary_type, event.secondary_id, event.secondary_url)


def addresses_of(actor: Actor, keys: Iterable[Key | None]) -> dict[Key, str]:
    """Return the addresses of pages about entities that still exist and that the actor may see.

    One query for each kind among the keys.
    """
    wanted: dict[str, set[int]] = {}
    for each in keys:
        if each is not None:
            wanted.setdefault(each[0], set()).add(each[1])
    found: dict[Key, str] = {}
    for kind, numbers in wanted.items():
        found.update({(kind, key): address for key, address in _addresses(actor, kind, numbers)})
    return found


def hide_secondary(actor: Actor, events: Iterable[Event]) -> None:
    """Remove the labels of second entities that a restricted actor has no grant on from events that a page shows.

    One query for each kind among the second entities if the actor is restricted.
    """
    if not actor.restricted:
        return
    need_grants = {kind.name for kind in grantable()}
    named = [(event, key) for event in events if (key := secondary_key(event)) and key[0] in need_grants]
    seen = addresses_of(actor, (key for _, key in named))
    for event, key in named:
        if key not in seen:
            event.secondary_label = ""


def _addresses(actor: Actor, kind: str, keys: set[int]) -> Iterator[tuple[int, str]]:
    if kind == "account" and granted(actor, ACCOUNT_READ):
        yield from ((key, NOUNS["account"].address) for key in keys)
    elif kind in OF_ACCOUNT:
        model, page, grant = OF_ACCOUNT[kind]
        if granted(actor, grant):
            own = model._default_manager.filter(account_id=actor.account_id, pk__in=keys)
            yield from ((key, reverse(page, args=[key])) for key in own.values_list("pk", flat=True))
    for named in kinds():
        # events name tags by their labels; every other kind with a page has owners, so its manager has `visible_to`
        if named.name == kind and named.page and not named.derived and may_open(actor, NOUNS[named.noun]):
            rows: QuerySet[Any] = named.model._default_manager.visible_to(actor)  # type: ignore[attr-defined]
            pairs = rows.filter(**{f"{named.key}__in": keys}).values_list(named.key, "pk")
            yield from ((key, reverse(named.page, args=[pk])) for key, pk in pairs)
