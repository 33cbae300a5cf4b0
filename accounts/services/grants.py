"""Keeping grants in step with the entities they are on."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Value

from accounts.actors import Actor
from accounts.entities import EntityKind, grantable
from accounts.models import GlobalGrants, Grant, Level, User
from accounts.services.events import record_event
from accounts.services.refs import user_ref
from config.errors import Invalid, Problems


def grant_creator(actor: Actor, entity_type: str, entity_id: int) -> None:
    """Give a restricted actor read_write on the entity that it has created; other actors need no grant."""
    if actor.restricted and actor.user_id is not None:
        Grant.objects.create(
            user_id=actor.user_id, entity_type=entity_type, entity_id=entity_id, permissions=Level.READ_WRITE
        )


def forget_entity(entity_type: str, entity_id: int) -> None:
    """Drop every grant on an entity that is being deleted."""
    Grant.objects.filter(entity_type=entity_type, entity_id=entity_id).delete()


def granted_entities(actor: Actor) -> dict[str, list[dict[str, Any]]]:
    """The entities a restricted user may see, by kind: ``{"id": …, "label": …, "permissions": …}`` each.

    Ids are those that grants store: an image's is its number. Kinds without a visible entity are left out.
    One query, however many grants and kinds there are.
    """
    rows = [_of_kind(actor, kind) for kind in grantable()]
    found: dict[str, list[dict[str, Any]]] = {}
    for name, key, label, level in sorted(rows[0].union(*rows[1:], all=True)) if rows else ():
        found.setdefault(name, []).append({"id": key, "label": label, "permissions": level})
    return found


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
    """The grants of a user on entities, by kind and id. Grants on deleted entities are left out. One query."""
    if user.account_id is None:
        return []
    found = granted_entities(Actor(user.account_id, user.pk, user.username, user.restricted))
    return [
        NamedGrant(kind, each["id"], each["label"], each["permissions"])
        for kind, entries in found.items()
        for each in entries
    ]


def _of_kind(actor: Actor, kind: EntityKind) -> QuerySet:
    """Kind, id, label and level of each granted entity of one kind."""
    mine = Grant.objects.filter(user_id=actor.person)
    grant = mine.filter(entity_type=kind.name, entity_id=OuterRef(kind.key))
    return (
        kind.model._default_manager.filter(account_id=actor.account_id)
        .annotate(kind=Value(kind.name), level=Subquery(grant.values("permissions")))
        .filter(level__isnull=False)
        .order_by()
        .values_list("kind", kind.key, "label", "level")
    )


@transaction.atomic
def set_grants(
    actor: Actor, user: User, on_account: dict[str, Any], on_entities: dict[str, list[dict[str, Any]]]
) -> None:
    """Write those grants of a restricted user that are given; the others stay as they are.

    `on_account` holds columns of `GlobalGrants`, `on_entities` lists of ``{"id": …, "permissions": …}`` by kind;
    permissions None take a grant away. Raises `Invalid` where the user is unrestricted, and naming each id that is
    no entity of the account (``compute[0].id``).
    """
    if not User.objects.select_for_update(no_key=True).filter(pk=user.pk, restricted=True).exists():
        raise Invalid("An unrestricted user has no grants.")
    _check_ids(user, on_entities)
    if on_account:
        GlobalGrants.objects.update_or_create(user=user, defaults=on_account)
    for kind, entries in on_entities.items():
        taken = [entry["id"] for entry in entries if entry["permissions"] is None]
        Grant.objects.filter(user=user, entity_type=kind, entity_id__in=taken).delete()
        given = {entry["id"]: entry["permissions"] for entry in entries if entry["permissions"] is not None}
        Grant.objects.bulk_create(
            [Grant(user=user, entity_type=kind, entity_id=key, permissions=level) for key, level in given.items()],
            update_conflicts=True,
            unique_fields=["user", "entity_type", "entity_id"],
            update_fields=["permissions"],
        )
    if on_account or any(on_entities.values()):
        record_event(actor, "user_update", user_ref(user), message="Grants were changed.")


def _check_ids(user: User, on_entities: dict[str, list[dict[str, Any]]]) -> None:
    problems = Problems()
    models = {kind.name: kind for kind in grantable()}
    for name, entries in on_entities.items():
        kind = models.get(name)
        known: set[int] = set()
        if kind is not None:
            asked = {f"{kind.key}__in": [entry["id"] for entry in entries]}
            mine = kind.model._default_manager.filter(account_id=user.account_id, **asked)
            known = set(mine.values_list(kind.key, flat=True))
        for index, entry in enumerate(entries):
            if entry["id"] not in known:
                problems.add(f"{name}[{index}].id", "id is not valid")
    problems.raise_any()
