"""The revisions of deployment scripts: the texts that a script has and had."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Length

from compute.models import StackScript, StackScriptRevision

MAX_KEPT = 50
"""The revisions of a script that are kept."""
MAX_CHARACTERS = 1024 * 1024
"""The characters of all kept revisions of a script together. The present text is always kept."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a script with its note, and the time since which the script has had it."""

    script: str
    rev_note: str
    since: datetime


def record(script: StackScript, username: str, before: Text | None = None) -> None:
    """Record the present text of a script that is locked or new. Delete the oldest revisions beyond the limits.

    `before` is the text that it replaces. If it has no revision, it gets one first: a process of a release without
    revisions has saved it, during an upgrade.
    """
    newest = script.revisions.first()
    texts = [(username, Text(script.script, script.rev_note, script.updated))]
    if before and (newest is None or newest.script != before.script):
        texts.insert(0, ("", before))
    rows = (
        StackScriptRevision(
            stackscript=script, number=number, username=author, rev_note=text.rev_note, script=text.script,
            created=text.since,
        )
        for number, (author, text) in enumerate(texts, newest.number + 1 if newest else 1)
    )  # fmt: skip
    StackScriptRevision.objects.bulk_create(rows)
    _delete_old(script)


def correct_note(script: StackScript) -> None:
    """Set the note of the present text's revision to the script's note, which changed without a new text."""
    newest = script.revisions.only("script").first()
    if newest and newest.script == script.script:
        StackScriptRevision.objects.filter(pk=newest.pk).update(rev_note=script.rev_note)


def _delete_old(script: StackScript) -> None:
    """Delete the revisions beyond the limits, the oldest first."""
    characters = 0
    rows = script.revisions.values_list("number", Length("script"))[: MAX_KEPT + 1]
    for position, (number, length) in enumerate(rows):
        characters += length
        if position == MAX_KEPT or (position and characters > MAX_CHARACTERS):
            script.revisions.filter(number__lte=number).delete()
            return
