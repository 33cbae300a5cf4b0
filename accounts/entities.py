"""The registry of the kinds of entity.

Grants, tags and events name entities by kind and id. Their apps must not import the apps that own the entities. So
each owning app registers its kinds here at start-up, in ``AppConfig.ready()``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Model

GRANTABLE = (
    "compute", "nodebalancer", "domain", "stackscript", "longview", "image", "volume", "firewall", "database",
)  # fmt: skip
"""All kinds that the contract has grants for, in its order, including kinds that the platform does not offer
yet.
"""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity. `name` is the kind's name in grants, tags and events: ``compute``.

    `url` is the path of an entity, with ``{id}`` in it. Restricted users need a grant on entities of `grantable`
    kinds. Models of these kinds have an `account`, a `label` and an integer column `key`. Grants and tags name an
    entity by this column. A VLAN is named by its label, a region by its id. For a `derived` kind, restricted users
    see the rows that the model's `visible_to` returns: a tag is visible if an object that carries it is.

    `author` is the column with the creator's username, if there is one. Such models have `created` too. `authored`
    has models of parts with a column of the same name, each with its path to the entity. `prefix` comes before the
    key in the id that clients know, which is then a slug: ``private/12``.

    `noun` is the slug of the kind's entry in the navigation of pages, if there is one. `page` is the name of the
    URL of an entity's page, whose parameter is the primary key. Without a page, links lead to the noun's list.

    `blocks_closing` is the name of one entity in sentences, for kinds that cost money or serve someone. An account
    with such entities cannot be closed by its users.
    """

    name: str
    model: type[Model]
    url: str
    grantable: bool = False
    derived: bool = False
    key: str = "pk"
    author: str = ""
    authored: tuple[tuple[type[Model], str], ...] = ()
    prefix: str = ""
    noun: str = ""
    page: str = ""
    blocks_closing: str = ""


_kinds: dict[str, EntityKind] = {}


def register(kind: EntityKind) -> None:
    """Register a kind. Raises `ValueError` if its name is taken, or if it is grantable but not in `GRANTABLE`."""
    if kind.grantable and kind.name not in GRANTABLE:
        raise ValueError(f"there are no grants on {kind.name!r}")
    if _kinds.setdefault(kind.name, kind) != kind:
        raise ValueError(f"the kind {kind.name!r} is registered already")


def kind_of(name: str) -> EntityKind:
    """Return the kind of this name. Raises `LookupError` if no such kind is registered."""
    return _kinds[name]


def shown_id(name: str, key: int) -> int | str:
    """Return the id that clients know for an entity of the kind `name`, registered or not: its key, or a slug."""
    kind = _kinds.get(name)
    return f"{kind.prefix}{key}" if kind is not None and kind.prefix else key


def key_of_slug(slug: str) -> tuple[str, int] | None:
    """Return the kind and the key of the entity with this `slug`, or None if no kind has such slugs."""
    for kind in _kinds.values():
        key = slug.removeprefix(kind.prefix)
        if key != slug and re.fullmatch("[1-9][0-9]{0,18}", key):
            return kind.name, int(key)
    return None


def with_slugs() -> tuple[str, ...]:
    """Return the names of the kinds whose entities have a slug as their id."""
    return tuple(kind.name for kind in _kinds.values() if kind.prefix)


def kinds() -> Iterator[EntityKind]:
    """Yield all kinds, in order of registration."""
    return iter(_kinds.values())


def derived() -> Iterator[EntityKind]:
    """Yield the kinds that restricted users see because of other entities, without a grant of their own."""
    return (kind for kind in kinds() if kind.derived)


def grantable() -> Iterator[EntityKind]:
    """Yield the kinds that restricted users need grants on."""
    return (kind for kind in kinds() if kind.grantable)
