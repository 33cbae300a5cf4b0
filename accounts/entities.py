"""The registry of the kinds of entity.

Grants, tags and events name entities by kind and id, in apps to the left of the apps that own the entities. So
each owning app registers its kinds here at start-up, in ``AppConfig.ready()``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Model

GRANTABLE = (
    "compute", "database", "domain", "firewall", "image", "longview", "nodebalancer", "stackscript", "volume",
)  # fmt: skip
"""All kinds that the contract has grants for, including those not offered here yet."""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity. `name` is the kind's name in grants, tags and events: ``compute``.

    `url` is the path of an entity, with ``{id}`` in it. Restricted users need a grant on entities of `grantable`
    kinds. Models of these have an `account`, a `label` and an integer column `key`, by which grants and tags name
    an entity; a VLAN is named by its label, a region by its id. `author` is the column with the creator's username,
    where there is one; such models have `created` too.
    """

    name: str
    model: type[Model]
    url: str
    grantable: bool = False
    key: str = "pk"
    author: str = ""


_kinds: dict[str, EntityKind] = {}


def register(kind: EntityKind) -> None:
    """Register a kind. Raises `ValueError` where its name is taken, or it is grantable but not in `GRANTABLE`."""
    if kind.grantable and kind.name not in GRANTABLE:
        raise ValueError(f"there are no grants on {kind.name!r}")
    if _kinds.setdefault(kind.name, kind) != kind:
        raise ValueError(f"the kind {kind.name!r} is registered already")


def kind_of(name: str) -> EntityKind:
    """The kind of this name. Raises `LookupError` where no such kind is registered."""
    return _kinds[name]


def kinds() -> Iterator[EntityKind]:
    """All kinds, in order of registration."""
    return iter(_kinds.values())


def grantable() -> Iterator[EntityKind]:
    """The kinds that restricted users need grants on."""
    return (kind for kind in kinds() if kind.grantable)
