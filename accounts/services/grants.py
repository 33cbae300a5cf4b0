"""Keeping grants in step with the entities they are on."""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery, Value

from accounts.actors import Actor
from accounts.entities import EntityKind, grantable
from accounts.models import Grant, Level


def grant_creator(actor: Actor, entity_type: str, entity_id: int) -> None:
    """Give a restricted user read_write on the entity it just made; others need no grant."""
    if actor.restricted and actor.user_id is not None:
        Grant.objects.create(
            user_id=actor.user_id, entity_type=entity_type, entity_id=entity_id, permissions=Level.READ_WRITE
        )


def forget_entity(entity_type: str, entity_id: int) -> None:
    """Drop every grant on an entity that is being deleted."""
    Grant.objects.filter(entity_type=entity_type, entity_id=entity_id).delete()


def granted_entities(actor: Actor) -> dict[str, list[dict[str, Any]]]:
    """The entities a restricted user may see, by kind: ``{"id": …, "label": …, "permissions": …}`` each.

    Ids are what grants name entities by: an image's is its number. Kinds of which it may see none are left out.
    One query, however many grants and kinds there are.
    """
    rows = [_of_kind(actor, kind) for kind in grantable()]
    found: dict[str, list[dict[str, Any]]] = {}
    for name, key, label, level in sorted(rows[0].union(*rows[1:], all=True)) if rows else ():
        found.setdefault(name, []).append({"id": key, "label": label, "permissions": level})
    return found


def _of_kind(actor: Actor, kind: EntityKind) -> QuerySet:
    """Kind, id, label and level of each granted entity of one kind."""
    mine = Grant.objects.filter(user_id=actor.user_id)  # type: ignore[misc] # the stubs know no None in lookups
    grant = mine.filter(entity_type=kind.name, entity_id=OuterRef(kind.key))
    return (
        kind.model._default_manager.filter(account_id=actor.account_id)
        .annotate(kind=Value(kind.name), level=Subquery(grant.values("permissions")))
        .filter(level__isnull=False)
        .order_by()
        .values_list("kind", kind.key, "label", "level")
    )
