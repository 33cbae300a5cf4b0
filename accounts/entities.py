"""Which kinds of entity there are.

Grants, tags and events name entities by kind and id, in apps that stand to the left of those that have the
entities. So these register their kinds here when they start, in ``AppConfig.ready()``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Model

GRANTABLE = (
    "compute", "database", "domain", "firewall", "image", "longview", "nodebalancer", "stackscript", "volume",
)  # fmt: skip
"""All kinds that the contract has grants for, whether or not they are offered here yet."""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity. `name` is what grants, tags and events call it: ``compute``.

    `url` is the path of one, with ``{id}`` in it. `grantable` kinds are those a restricted user needs a grant on.
    Their models have an `account` and a `label`, and an integer column `key` that grants and tags name them by; a
    VLAN goes by its label, a region by its id. `author` is the column that has the username of who made them, where
    there is one; such models have `created` too.
    """

    name: str
    model: type[Model]
    url: str
    grantable: bool = False
    key: str = "pk"
    author: str = ""


_kinds: dict[str, EntityKind] = {}


def register(kind: EntityKind) -> None:
    """Make a kind known. Raises `ValueError` where the name is taken, or none that grants are made out to."""
    if kind.grantable and kind.name not in GRANTABLE:
        raise ValueError(f"there are no grants on {kind.name!r}")
    if _kinds.setdefault(kind.name, kind) != kind:
        raise ValueError(f"the kind {kind.name!r} is registered already")


def kind_of(name: str) -> EntityKind:
    """The kind of this name. Raises `LookupError`."""
    return _kinds[name]


def kinds() -> Iterator[EntityKind]:
    """All kinds, in order of registration."""
    return iter(_kinds.values())


def grantable() -> Iterator[EntityKind]:
    """The kinds that restricted users need grants on."""
    return (kind for kind in kinds() if kind.grantable)
