"""Create a tag together with the objects that carry it, and delete a tag from all objects."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import CharField, F, Func, QuerySet, Value
from django.db.models.functions import Now

from accounts.actors import Actor
from accounts.entities import kind_of
from accounts.services.events import EntityRef, record_event
from config.db.unique import note_taken
from config.errors import Busy, Missing, Problems
from tags.models import Tag, Tagging
from tags.services import check_labels, check_may_tag, check_room

MAX_TRIES = 5
"""The number of times that a deletion starts again because objects get the tag at the same time."""

Entity = tuple[str, int]
"""Kind and id."""


class _Labels(Func):
    """A function of PostgreSQL that takes an array of labels and a label, and returns an array of labels."""

    output_field = ArrayField(CharField(max_length=50))


def tag_ref(tag: Tag) -> EntityRef:
    return EntityRef("tag", tag.pk, tag.label, f"/v4/tags/{quote(tag.label, safe='')}")


@transaction.atomic
def create(
    actor: Actor, label: str | None, wanted: Mapping[str, Iterable[int]], problems: Problems | None = None
) -> Tag:
    """Make a tag and put it on objects. `wanted` has their ids by kind (``compute``). Everything or nothing.

    Raises `Denied` for restricted users. Raises `Invalid` with every failing field: the `problems`, the label, and
    each field (``computes``) with an object that the account does not have. The label is None if it failed a check
    before.
    """
    check_may_tag(actor)
    problems = problems or Problems()
    if label is not None:
        for _, reason in check_labels([label]):
            problems.add("label", reason)
    tag = Tag(account_id=actor.account_id, label=label or "")
    entities = {(kind, pk) for kind, keys in wanted.items() for pk in keys}
    locked = _lock_entities(actor, entities)
    for kind in sorted({kind for kind, _ in entities - locked}):
        problems.add(f"{kind}s", f"{kind}s is not valid")
    note_taken(tag, problems)
    problems.raise_any()
    check_room(actor.account_id, 1, None)
    tag.save(force_insert=True)
    for kind, rows in _by_kind(locked):
        rows.update(tags=_Labels(F("tags"), Value(tag.label), function="array_append"), updated=Now())
        Tagging.objects.bulk_create(
            Tagging(tag=tag, entity_type=kind, entity_id=pk) for pk in rows.values_list("pk", flat=True)
        )
    record_event(actor, "tag_create", tag_ref(tag))
    return tag


def delete(actor: Actor, tag: Tag) -> None:
    """Delete a tag from all objects that carry it. Raises `Denied` for restricted users, `Missing` if it is gone.

    A request that tags an object locks the object first and the tag's row afterwards, and so does this function.
    Once the tag is locked, the function looks for objects that got the tag in between. If there are any, it
    releases all locks and starts again. Raises `Busy` after `MAX_TRIES` attempts.
    """
    check_may_tag(actor)
    for _ in range(MAX_TRIES):
        if _delete(actor, tag):
            return
    raise Busy("Another request is adding this tag to objects. Try again.")


@transaction.atomic
def _delete(actor: Actor, tag: Tag) -> bool:
    """Delete the tag, and return True. If objects got the tag meanwhile, change nothing and return False."""
    carrying = _carrying(tag)
    locked = _lock_entities(actor, carrying)
    if not Tag.objects.select_for_update().filter(pk=tag.pk).exists():
        raise Missing
    if not _carrying(tag) <= carrying:
        return False
    for _, rows in _by_kind(locked):
        rows.update(tags=_Labels(F("tags"), Value(tag.label), function="array_remove"), updated=Now())
    ref = tag_ref(tag)
    Tag.objects.filter(pk=tag.pk).delete()
    record_event(actor, "tag_delete", ref)
    return True


def _carrying(tag: Tag) -> set[Entity]:
    return set(Tagging.objects.filter(tag=tag).values_list("entity_type", "entity_id"))


def _lock_entities(actor: Actor, entities: Iterable[Entity]) -> set[Entity]:
    """Lock the account's own objects among `entities`, kind by kind and in key order. Return them."""
    locked = set()
    for kind, rows in _by_kind(entities):
        mine = rows.filter(account_id=actor.account_id).order_by("pk").select_for_update(no_key=True)
        locked |= {(kind, pk) for pk in mine.values_list("pk", flat=True)}
    return locked


def _by_kind(entities: Iterable[Entity]) -> Iterable[tuple[str, QuerySet]]:
    keys: dict[str, list[int]] = {}
    for kind, pk in entities:
        keys.setdefault(kind, []).append(pk)
    for kind in sorted(keys):
        yield kind, kind_of(kind).model._default_manager.filter(pk__in=keys[kind])
