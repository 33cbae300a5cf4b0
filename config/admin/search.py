"""One search over all objects that have a page: ``/admin/search/?q=``. Apps register the kinds of object at import.

Each kind takes at most two queries, however many rows are found. The exact query looks for ids, names and
addresses. The loose query looks for words in the middle of labels and texts, and may read a whole table.

All exact queries share a budget of a few seconds, and all loose queries share another. When a budget is used up,
the database ends the query, and the page asks for more exact words. This needs no extension of PostgreSQL: trigrams
would be faster, but an operator may not be allowed to add them.
"""

import ipaddress
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.text import capfirst

from config.admin.value_formats import page_of
from config.db.prepared import TookTooLong, ending_after
from config.display.integers import is_id

ROWS_SHOWN = 10
"""The rows shown for each kind. One more row is read, to know whether there are more."""
MAX_QUERY_LENGTH = 200
"""The maximum number of characters in a search."""
MIN_LOOSE_LENGTH = 2
"""The minimum number of characters for a loose query."""
EXACT_SECONDS, LOOSE_SECONDS = 2.0, 1.0
EXACT_BUDGET, LOOSE_BUDGET = 6.0, 4.0
"""The seconds that all exact queries, and all loose queries, of a search may take together."""


@dataclass(frozen=True)
class Term:
    """The text of a search, with its possible meanings.

    With `own_id`, the text is the id of the row itself, and not of a related object. It came after the row's noun.
    """

    text: str
    own_id: bool = False

    @cached_property
    def number(self) -> int | None:
        """The text as an id, or None."""
        return int(self.text) if is_id(self.text) else None

    @cached_property
    def address(self) -> str | None:
        """The text as an IP address in its normal form, or None. For a network, its first address."""
        try:
            return str(ipaddress.ip_interface(self.text.strip("[]")).ip)
        except ValueError:
            return None

    @cached_property
    def named_id(self) -> tuple[str, int] | None:
        """The noun and the id of a text such as *ticket 12* or *reboot #7*. A job's noun is its kind."""
        found = re.fullmatch(r"(\D*[^\W\d])[ #]+(\d+)", self.text)
        return (found[1].casefold(), int(found[2])) if found and is_id(found[2]) else None

    @cached_property
    def is_loose(self) -> bool:
        return len(self.text) >= MIN_LOOSE_LENGTH and self.address is None


Condition = Callable[[Term], Q | None]


def never(term: Term) -> Q | None:
    return None


@dataclass(frozen=True, slots=True)
class Hit:
    """The text shown for a row: its name, one line about it, and the objects that it belongs to."""

    name: str
    about: str = ""
    related: Sequence[Model | None] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows that can be found, each with an admin page.

    `exact` and `loose` return the condition for a term. If the term cannot match, they return None, and no query
    runs. `rows` joins all relations that `show` reads. `note` says what the loose search omits. If `is_record`, the
    rows are records of events. They are shown after the objects concerned. If the text is a number, kinds with
    `leads_numbers` are shown before all others.
    """

    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    show: Callable[[Any], Hit]
    exact: Condition = never
    loose: Condition = never
    note: str = ""
    is_record: bool = False
    leads_numbers: bool = False

    @property
    def title(self) -> str:
        return capfirst(str(self.model._meta.verbose_name_plural))

    @property
    def permission(self) -> str:
        return view_of(self.model)


@dataclass(frozen=True, slots=True)
class Link:
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Row:
    link: Link
    about: str
    related: list[Link]


@dataclass(slots=True)
class Group:
    """The rows found of one kind.

    `more`: there are more rows than are shown. `ended`: the database ended a query.
    """

    title: str
    rows: list[Row] = field(default_factory=list)
    more: bool = False
    ended: bool = False
    note: str = ""


_kinds: list[Kind] = []


def findable(*kinds: Kind) -> None:
    """Register kinds. They are shown in the order of registration, records last."""
    _kinds.extend(kinds)
    _kinds.sort(key=lambda kind: kind.is_record)


def contains(*columns: str) -> Condition:
    """Return a loose condition: one of the columns contains the term, in any case."""

    def condition(term: Term) -> Q | None:
        return _any(Q(**{f"{column}__icontains": term.text}) for column in columns)

    return condition


def _any(conditions: Iterable[Q]) -> Q:
    found = Q(pk__in=[])
    for each in conditions:
        found |= each
    return found


def search(request: HttpRequest, text: str) -> list[Group]:
    """Return the rows that the text finds and the user of the request may view, by kind.

    Kinds without rows are omitted.
    """
    term = Term(text)
    allowed = [kind for kind in _kinds if request.user.has_perm(kind.permission)]
    if term.number is not None:
        allowed.sort(key=lambda kind: not kind.leads_numbers)
    end = time.monotonic() + EXACT_BUDGET
    groups = [_exact(kind, term, end) for kind in allowed]
    end = time.monotonic() + LOOSE_BUDGET
    for (group, found), kind in zip(groups, allowed, strict=True):
        if term.is_loose:
            _loose(kind, term, group, found, end)
    answered = []
    for (group, found), kind in zip(groups, allowed, strict=True):
        group.more = len(found) > ROWS_SHOWN
        group.rows = [_row(request, kind, obj) for obj in found[:ROWS_SHOWN]]
        if group.rows or group.ended:
            answered.append(group)
    return answered


def _exact(kind: Kind, term: Term, end: float) -> tuple[Group, list[Model]]:
    group = Group(kind.title, note=kind.note)
    if term.named_id and term.named_id[0] == str(kind.model._meta.verbose_name).casefold():
        condition = kind.exact(Term(str(term.named_id[1]), own_id=True))
    else:
        condition = kind.exact(term)
    return group, _read(kind, condition, group, end, EXACT_SECONDS)


def _loose(kind: Kind, term: Term, group: Group, found: list[Model], end: float) -> None:
    """Add the rows of the loose condition to `found`, without duplicates."""
    condition = kind.loose(term)
    if condition is None:
        return
    known = {obj.pk for obj in found}
    found += [obj for obj in _read(kind, condition, group, end, LOOSE_SECONDS) if obj.pk not in known]


def _read(kind: Kind, condition: Q | None, group: Group, end: float, seconds: float) -> list[Model]:
    """Return the rows of the condition. The query may take `seconds`, and must finish before `end`."""
    if condition is None:
        return []
    left = end - time.monotonic()
    if left <= 0:
        group.ended = True
        return []
    try:
        with ending_after(min(left, seconds)):
            return list(kind.rows().filter(condition).order_by("-pk")[: ROWS_SHOWN + 1])
    except TookTooLong:
        group.ended = True
        return []


def _row(request: HttpRequest, kind: Kind, obj: Model) -> Row:
    hit = kind.show(obj)
    related = [
        Link(f"{each._meta.verbose_name} {each}", page_of(each))
        for each in hit.related
        if each is not None and request.user.has_perm(view_of(type(each)))
    ]
    return Row(Link(hit.name, page_of(obj)), hit.about, related)


def view_of(model: type[Model]) -> str:
    """The permission to view a model's pages."""
    return f"{model._meta.app_label}.view_{model._meta.model_name}"


def page(request: HttpRequest, context: dict[str, Any]) -> TemplateResponse:
    """Show the search page, with the site's `context`. An empty search finds nothing."""
    text = " ".join(request.GET.get("q", "").replace("\0", "").split())
    shown = {"title": "Search", "q": text, "too_long": len(text) > MAX_QUERY_LENGTH, "groups": []}
    if text and len(text) <= MAX_QUERY_LENGTH:
        shown["groups"] = search(request, text)
    return TemplateResponse(request, "admin/search.html", {**context, **shown})
