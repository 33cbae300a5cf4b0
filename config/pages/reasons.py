"""Reasons of services in the words of pages: labels of forms in place of field names, and nouns of pages.

The API names fields as its requests spell them, and calls an instance a compute. Pages show the same reasons to
people, who know neither. Texts of customers in reasons are marked (`config.word.quoted`), and stay.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from config import word
from config.api.reasons import ITEM, spelled
from config.errors import Problem
from config.word import QUOTE

WORDS = {
    "compute": "instance",
    "nodebalancer": "load balancer",
    "rdns": "reverse name",
    "stackscript": "deployment script",
    "thumbnail": "picture",
}
"""The API's nouns that pages replace."""
NAMES = {
    "backup_id": "a backup",
    "compute_id": "an instance",
    "config_id": "a configuration profile",
    "disk_id": "a disk",
    "stackscript_id": "a deployment script",
    "user_data": "user data",
    "volume_id": "a volume",
}
"""Names of fields in reasons, for forms that have no field of this name."""
INSTEAD = {
    "Answer three security questions with /profile/security-questions first.":
        "Answer three security questions first.",
    "Ask for a secret with /profile/tfa-enable first.": "Begin again: the secret has expired or was replaced.",
    "Compute busy.": "Another job runs on the instance. Try again later.",
    "Exactly one of disk_id and volume_id is needed.": "Choose either a disk or a volume.",
    "Give either compute_id or route_target.": "Choose an instance.",
    "Managed is not enabled on this account: POST /account/settings/managed-enable enables it.":
        "Managed services are not enabled on this account. An unrestricted user can enable them.",
    "Must provide a region or a Compute ID": "Choose a region or an instance.",
    "This compute has several configuration profiles: name one with config_id.":
        "This instance has several configuration profiles: choose one.",
    "This compute has several disks: reset the password of one, with disks/{diskId}/password.":
        "This instance has several disks: choose one on its page Storage.",
    "Two-factor authentication is enabled with /profile/tfa-enable.":
        "Enable two-factor authentication on its page in your profile.",
    "compute_id or route_target is required": "Choose an instance.",
    "config_id is for a volume that is attached: compute_id is missing.":
        "Choose an instance too: a configuration profile is only for a volume that is attached.",
    "soa_email required when type=master": "soa_email is required for a domain of the type master.",
}  # fmt: skip
"""Reasons that pages replace as a whole, because they are about requests."""
MAX_ENTRY = 40
"""The most characters of a wrong entry of a list that a reason shows."""

_INSTEAD = {word.on_wire(reason): shown for reason, shown in INSTEAD.items()}
_NAMES = {word.on_wire(name): shown for name, shown in NAMES.items()}
_PIECE = re.compile(r"[^.\[\]]+")
_QUOTED = f"{QUOTE}[^{QUOTE}]*{QUOTE}"
_SUBJECT = re.compile(r"[a-z]\w*(?:\.\w+|\[\w*\])*")
_OTHER_FIELD = re.compile(r"[a-z]+(?:_[a-z]+)+(?: is | must | or | and |: )")
_FIELD_NAME = re.compile(rf"{_QUOTED}|(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w/-])")


def _nouns() -> dict[str, str]:
    """Return the nouns of pages, by the API's nouns in singular and plural."""
    found = {**WORDS, **{f"{noun}s": f"{shown}s" for noun, shown in WORDS.items()}}
    return {**found, **{word.on_wire(noun): shown for noun, shown in found.items()}}


_NOUNS = _nouns()
_NOUN = re.compile(
    rf"{_QUOTED}|(?<![\w./-])(?:([Aa])n? )?({'|'.join(sorted(map(re.escape, _NOUNS), key=len, reverse=True))})"
    r"(?![\w/-]|\.\w)",
    re.IGNORECASE,
)


def reason_on_page(
    problem: Problem, shown_at: str = "", fields: Mapping[str, forms.Field] | None = None, entry: str = ""
) -> str:
    """Return the reason of a problem in the words of a page.

    `shown_at` is the name of the field that the form shows the reason at, and `entry` the wrong entry of its list.
    """
    fields = fields or {}
    by_name = {alias: fields[name] for name in _nearest_last(fields, shown_at) for alias in _own_names(name)}
    reason = _INSTEAD.get(problem.reason, getattr(problem.reason, "marked", problem.reason))
    is_quoted, plain = reason.startswith(QUOTE), reason.replace(QUOTE, "")
    begin = _SUBJECT.match(plain)
    name = begin[0] if begin else ""
    own = _own_names(problem.field or "", shown_at)
    if name and any(name == each or name.startswith(f"{each}.") for each in own):
        subject = f'"{entry}"' if entry else _subject(name, fields.get(shown_at), is_quoted)
    elif not is_quoted and (name in by_name or _OTHER_FIELD.match(plain)):
        subject = _subject(name, by_name.get(name))
    else:
        name = subject = ""
    rest = reason.replace(QUOTE, "", 2) if name and is_quoted else reason
    text = _FIELD_NAME.sub(
        lambda found: _object(found[0], by_name.get(found[0])), _NOUN.sub(_noun, rest[len(name) :])
    )
    text = subject + text.replace(QUOTE, "")
    # an id of an object that the form does not offer says nothing to people
    named = not entry or entry.isdigit() or f'"{entry}"' in text or f" {entry} " in f" {problem.reason} "
    return text if named else f'"{entry}": {text}'


def text_on_page(reason: str) -> str:
    """Return the text of an error, such as the reason why a verb is unavailable, in the words of a page.

    HTML is a page's own text, and is not changed.
    """
    return reason if not reason or isinstance(reason, SafeString) else reason_on_page(Problem(reason))


def message_on_page(message: str) -> str:
    """Return the message of an event in the words of a page. Only sentences of the platform are changed."""
    return word.translated(message, lambda text: _NOUN.sub(_noun, text))


def entry_at(body: Mapping[str, Any], path: str) -> Any:
    """Return the entry of a list in a body, such as ``tags[1]``. None if the path names no entry, or an object."""
    if not path.endswith("]"):
        return None
    found: Any = body
    for piece in _PIECE.findall(path):
        try:
            found = found[int(piece)] if isinstance(found, list) else found[piece]
        except (LookupError, TypeError, ValueError):
            return None
    return found if isinstance(found, str | int) else None


def entry_text(entry: Any, field: forms.Field | None) -> str:
    """Return an entry as people know it: the label of a choice of the field, or the shortened value."""
    chosen = {str(value): str(label) for value, label in _choices(getattr(field, "choices", ()))}
    text = chosen.get(str(entry), str(entry))
    return text if len(text) <= MAX_ENTRY else f"{text[:MAX_ENTRY]}…"


def _choices(choices: Any) -> Iterator[tuple[Any, Any]]:
    for value, label in choices:
        if isinstance(label, list | tuple):
            yield from _choices(label)
        else:
            yield value, label


def _nearest_last(names: Iterable[str], shown_at: str) -> list[str]:
    """Sort names of fields: the names in the row of `shown_at` come last, since other rows have the same names."""
    row = shown_at.rpartition(".")[0]
    return sorted(names, key=lambda name: name.rpartition(".")[0] == row)


def _own_names(*paths: str) -> set[str]:
    """Return the names that a reason about the fields at these paths can begin with."""
    found = {name for path in paths for name in (path, ITEM.sub("", path), spelled(path)) if name}
    return found | {word.on_wire(name) for name in found}


def _subject(name: str, field: forms.Field | None, is_quoted: bool = False) -> str:
    """Return the beginning of a sentence about a field: its label, in quotes if it has several words.

    `is_quoted` is whether a customer chose the name.
    """
    if is_quoted and (field is None or not field.label):
        return f'"{_PIECE.findall(name)[-1]}"'
    if field is None or not field.label:
        last = _PIECE.findall(name)[-1].removesuffix("_id").replace("_", " ")
        return _NOUN.sub(_noun, last).capitalize()
    label = str(field.label).removesuffix(" (optional)")
    return f'"{label}"' if " " in label else label


def _object(name: str, field: forms.Field | None) -> str:
    """Return the words for a field within a sentence."""
    return f'"{field.label}"' if field is not None and field.label else _NAMES.get(name, name)


def _noun(found: re.Match[str]) -> str:
    """Return a noun of pages, with a capital letter at the beginning of a sentence, and with its article. A text of
    a customer stays.
    """
    article, noun = found.groups()
    if noun is None:
        return found[0]
    shown = _NOUNS[noun.lower()]
    if article:
        return f"{article}{'n' if shown[0] in 'aeiou' else ''} {shown}"
    begins = noun[0].isupper() and (not found.start() or found.string[: found.start()].endswith(". "))
    return shown.capitalize() if begins else shown
