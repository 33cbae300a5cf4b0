"""Putting tags on entities, and taking them off."""

from collections.abc import Iterable, Iterator, Sequence

from accounts.actors import Actor
from config.errors import Denied
from tags.models import Tag, Tagging

SHORTEST, LONGEST = 3, 50


def check_may_tag(actor: Actor) -> None:
    """Adding or changing tags is for unrestricted users: raises `Denied`."""
    if actor.restricted:
        raise Denied


def check_labels(labels: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The position and the reason of each label that is not 3..50 characters long."""
    for index, label in enumerate(labels):
        if not SHORTEST <= len(label) <= LONGEST:
            yield index, f"Tag must be {SHORTEST}-{LONGEST} characters"


def set_tags(account_id: int, entity_type: str, entity_id: int, labels: Sequence[str]) -> list[str]:
    """Make these the tags of the entity, bringing new ones into being; returns them once each, in order.

    Labels are compared exactly. Two requests that bring the same tag into being do not hinder each other.
    """
    wanted = list(dict.fromkeys(labels))
    # Sorted: transactions that bring the same tags into being wait for each other in a line, not in a circle.
    tags = [Tag(account_id=account_id, label=label) for label in sorted(wanted)]
    Tag.objects.bulk_create(tags, ignore_conflicts=True)
    ids = list(Tag.objects.filter(account_id=account_id, label__in=wanted).values_list("pk", flat=True))
    taggings = Tagging.objects.filter(entity_type=entity_type, entity_id=entity_id)
    taggings.exclude(tag__in=ids).delete()
    Tagging.objects.bulk_create(
        [Tagging(tag_id=pk, entity_type=entity_type, entity_id=entity_id) for pk in ids], ignore_conflicts=True
    )
    return wanted


def untag(entity_type: str, entity_id: int) -> None:
    """Take every tag off an entity that is being deleted; the tags themselves live on."""
    Tagging.objects.filter(entity_type=entity_type, entity_id=entity_id).delete()
