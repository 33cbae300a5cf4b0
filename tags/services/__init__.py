"""Functions that put tags on entities and take them off."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from django.db import connection

from accounts.actors import Actor
from accounts.services import quotas
from config.errors import Denied, Invalid, Problem, Problems, wrong_length
from tags.models import Tag, Tagging

MIN_LABEL_LENGTH, MAX_LABEL_LENGTH = 3, 50


class Tagged(Protocol):
    """A row that repeats the labels of its tags."""

    @property
    def pk(self) -> Any: ...

    @property
    def tags(self) -> list[str]: ...


def check_may_tag(actor: Actor) -> None:
    """Raise `Denied` for restricted users, who may not add or change tags."""
    if actor.restricted:
        raise Denied


def check_labels(labels: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Return the index and the problem of each label that is not 3..50 characters long."""
    for index, label in enumerate(labels):
        if not MIN_LABEL_LENGTH <= len(label) <= MAX_LABEL_LENGTH:
            yield index, wrong_length(MIN_LABEL_LENGTH, MAX_LABEL_LENGTH)


def check_tags(actor: Actor, labels: Iterable[str], problems: Problems) -> None:
    """Check a change of an object's tags to `labels`: add each wrong label to `problems`, as ``tags[0]``.

    Raises `Denied` for restricted users, whatever the labels.
    """
    check_may_tag(actor)
    for index, reason in check_labels(labels):
        problems.add(f"tags[{index}]", reason)


def differing_tags(labels: Iterable[str] | None, now: Sequence[str]) -> list[str] | None:
    """Return `labels` without duplicates, in their order. None if they equal the tags `now`, or for None."""
    if labels is None:
        return None
    wanted = list(dict.fromkeys(labels))
    return None if wanted == list(now) else wanted


def set_tags(account_id: int, entity_type: str, entity_id: int, labels: Sequence[str]) -> list[str]:
    """Set the tags of the entity, creating missing ones. Return the labels without duplicates, in order.

    Raises `Invalid` on ``tags`` if the account would exceed its quota. Labels are compared exactly. Two requests
    that create the same tag do not block each other. A request that deletes a tag waits for requests that put it on
    objects.
    """
    wanted = list(dict.fromkeys(labels))
    known = _lock_tags(account_id, wanted) if wanted else {}
    # Again if a tag was deleted after it was found.
    while len(known) < len(wanted):
        missing = [label for label in wanted if label not in known]
        check_room(account_id, len(missing))
        # Sorted: transactions that create the same tags wait for each other in a line, not in a circle.
        tags = [Tag(account_id=account_id, label=label) for label in sorted(missing)]
        Tag.objects.bulk_create(tags, ignore_conflicts=True)
        known = _lock_tags(account_id, wanted)
    ids = known.values()
    taggings = Tagging.objects.filter(entity_type=entity_type, entity_id=entity_id)
    taggings.exclude(tag__in=ids).delete()
    Tagging.objects.bulk_create(
        [Tagging(tag_id=pk, entity_type=entity_type, entity_id=entity_id) for pk in ids], ignore_conflicts=True
    )
    return wanted


def untag(entity_type: str, entity_id: int) -> None:
    """Take every tag off an entity that is being deleted. The tags themselves stay."""
    Tagging.objects.filter(entity_type=entity_type, entity_id=entity_id).delete()


_LOCK_AND_READ_QUOTAS = """
SELECT quotas, pg_advisory_xact_lock(hashtextextended('tags of account ' || id, 0))
  FROM accounts_account WHERE id = %s
"""


def check_room(account_id: int, more: int, field: str | None = "tags") -> None:
    """Raise `Invalid` on `field` if the account has no room for so many more tags.

    Existing tags are counted under a lock of its own until the transaction ends. The account's row cannot be locked
    here: it must be locked before the tagged objects, which are already locked.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_AND_READ_QUOTAS, [account_id])
        (own, _) = cursor.fetchone()
    problems = Problems()
    quotas.compare("tags", json.loads(own), Tag.objects.filter(account_id=account_id), problems, more)
    if problems:
        raise Invalid.of(Problem(each.reason, field) for each in problems)


_LOCK_LABELS = (
    "SELECT label, id FROM tags_tag WHERE account_id = %s AND label = ANY(%s) ORDER BY label FOR KEY SHARE"
)


def _lock_tags(account_id: int, labels: list[str]) -> dict[str, int]:
    """Lock the account's tags with these labels against deletion until the transaction ends.

    Return their ids, by label.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_LABELS, [account_id, labels])
        return dict(cursor.fetchall())
