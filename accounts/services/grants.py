"""Functions that read and write grants on entities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery, Value

from accounts.actors import Actor
from accounts.entities import GRANTABLE, EntityKind, grantable
from accounts.models import GlobalGrants, Grant, Level, User
from accounts.services.events import record_event
from accounts.services.refs import user_ref
from config.db.rows import differing
from config.errors import Problems


def grant_creator(actor: Actor, entity_type: str, entity_id: int) -> None:
    """Give a restricted actor read_write on the entity that it has created. Other actors need no grant."""
    if actor.restricted and actor.user_id is not None:
        Grant.objects.create(
            user_id=actor.user_id, entity_type=entity_type, entity_id=entity_id, permissions=Level.READ_WRITE
        )


def forget_entity(entity_type: str, entity_id: int) -> None:
    """Delete every grant on an entity that is being deleted."""
    Grant.objects.filter(entity_type=entity_type, entity_id=entity_id).delete()


def granted_entities(actor: Actor) -> dict[str, list[dict[str, Any]]]:
    """Return the entities that a restricted user may see, by kind: ``{"id": …, "label": …, "permissions": …}``
    each.

    Ids are those that grants store: an image's id is its number. Kinds without a visible entity are omitted. One
    query, whatever the number of grants and kinds.
    """
    return _by_kind(_of_kind(actor, kind).filter(level__isnull=False) for kind in grantable())


def all_entities(actor: Actor) -> dict[str, list[dict[str, Any]]]:
    """Return all entities of the account in the same form. ``permissions`` is None if the user has no grant.

    Every kind that has grants is included, in the contract's order.
    """
    found = _by_kind(_of_kind(actor, kind) for kind in grantable())
    return {name: found.get(name, []) for name in GRANTABLE}


def entities_with_levels(user: User, kind: EntityKind) -> QuerySet:
    """Return the account's entities of one kind with the user's level on each, as rows of kind, key, label, level.

    The level is None without a grant. A page orders and slices the rows: an account can have thousands.
    """
    return _of_kind(Actor(user.account_id or 0, user.pk, user.username, user.restricted), kind)


def granted_numbers(user: User) -> dict[str, int]:
    """Return the number of the user's grants on entities of each kind. One query."""
    kinds = Grant.objects.filter(user=user).values_list("entity_type").annotate(Count("pk")).order_by("entity_type")
    return dict(kinds)


@dataclass(frozen=True, slots=True)
class NamedGrant:
    """A grant with the label of its entity."""

    kind: str
    key: int
    label: str
    level: str

    @property
    def field(self) -> str:
        """The name of the grant's form field."""
        return f"{self.kind}-{self.key}"


def named_grants(user: User) -> list[NamedGrant]:
    """Return the grants of a user on entities, by kind and id.

    Grants on deleted entities are omitted. One query.
    """
    if user.account_id is None:
        return []
    found = granted_entities(Actor(user.account_id, user.pk, user.username, user.restricted))
    return [
        NamedGrant(kind, each["id"], each["label"], each["permissions"])
        for kind, entries in found.items()
        for each in entries
    ]


def _of_kind(actor: Actor, kind: EntityKind) -> QuerySet:
    """Return kind, id, label and level of each entity of one kind. The level is None without a grant."""
    mine = Grant.objects.filter(user_id=actor.person)
    grant = mine.filter(entity_type=kind.name, entity_id=OuterRef(kind.key))
    return (
        kind.model._default_manager.filter(account_id=actor.account_id)
        .annotate(kind=Value(kind.name), level=Subquery(grant.values("permissions")))
        .order_by()
        .values_list("kind", kind.key, "label", "level")
    )


def _by_kind(rows: Iterable[QuerySet]) -> dict[str, list[dict[str, Any]]]:
    """Return the entities of all kinds from `rows` by kind, in the order of their ids. One query."""
    first, *others = rows
    found: dict[str, list[dict[str, Any]]] = {}
    for name, key, label, level in sorted(first.union(*others, all=True), key=itemgetter(0, 1)):
        found.setdefault(name, []).append({"id": key, "label": label, "permissions": level})
    return found


@transaction.atomic
def set_grants(
    actor: Actor,
    user: User,
    on_account: Mapping[str, Any],
    on_entities: Mapping[str, Sequence[Mapping[str, Any]]],
    problems: Problems | None = None,
) -> None:
    """Write the given grants of a restricted user that differ. Other grants are kept.

    `on_account` has columns of `GlobalGrants`, `on_entities` lists of ``{"id": …, "permissions": …}`` by kind.
    `permissions` None deletes a grant.

    Raises `Invalid` if the user is unrestricted, and with each id that is no entity of the account
    (``compute[0].id``). The `problems` come first.
    """
    problems = problems or Problems()
    if not User.objects.select_for_update(no_key=True).filter(pk=user.pk, restricted=True).exists():
        problems.add(None, "An unrestricted user has no grants.")
    _check_ids(user, on_entities, problems)
    problems.raise_any()
    # Both functions must run, whichever of them finds a difference.
    changed = [_write_on_account(user, on_account), _write_on_entities(user, on_entities)]
    if any(changed):
        record_event(actor, "user_update", user_ref(user), message="Grants were changed.")


def _write_on_account(user: User, wanted: Mapping[str, Any]) -> bool:
    """Write the account-level grants that differ. Return whether any did."""
    row = GlobalGrants.objects.filter(user=user).first() or GlobalGrants(user=user)
    changes = differing(row, wanted)
    for name, value in changes.items():
        setattr(row, name, value)
    if changes:
        row.save()
    return bool(changes)


def _write_on_entities(user: User, wanted: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Write the grants on entities that differ. Return whether any did."""
    mine = Grant.objects.filter(user=user, entity_type__in=wanted)
    current = {
        (kind, key): level for kind, key, level in mine.values_list("entity_type", "entity_id", "permissions")
    }
    given = {(kind, entry["id"]): entry["permissions"] for kind, entries in wanted.items() for entry in entries}
    changes = {entity: level for entity, level in given.items() if current.get(entity) != level}
    for kind in wanted:
        taken = [key for (name, key), level in changes.items() if name == kind and level is None]
        if taken:
            mine.filter(entity_type=kind, entity_id__in=taken).delete()
    Grant.objects.bulk_create(
        [
            Grant(user=user, entity_type=kind, entity_id=key, permissions=level)
            for (kind, key), level in changes.items()
            if level is not None
        ],
        update_conflicts=True,
        unique_fields=["user", "entity_type", "entity_id"],
        update_fields=["permissions"],
    )
    return bool(changes)


def _check_ids(user: User, on_entities: Mapping[str, Sequence[Mapping[str, Any]]], problems: Problems) -> None:
    models = {kind.name: kind for kind in grantable()}
    for name, entries in on_entities.items():
        kind = models.get(name)
        known: set[int] = set()
        if kind is not None and entries:
            asked = {f"{kind.key}__in": [entry["id"] for entry in entries]}
            mine = kind.model._default_manager.filter(account_id=user.account_id, **asked)
            known = set(mine.values_list(kind.key, flat=True))
        for index, entry in enumerate(entries):
            if entry["id"] not in known:
                problems.add(f"{name}[{index}].id", "id is not valid")
