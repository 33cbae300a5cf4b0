"""Bars in the cells of a table: the table has the numbers, and the bars show them.

A reader who does not see the bars misses nothing. On a phone the words keep their size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.admin.pages import Row


@dataclass(frozen=True, slots=True)
class BarTable:
    """A figure: a table, some of whose cells are bars.

    `legend` names the tones of the bars' pieces. `more` is the address of the list that was counted. `note`
    explains the numbers.
    """

    title: str
    headers: Sequence[str]
    rows: list[Row] = field(default_factory=list)
    legend: Sequence[tuple[str, str]] = ()
    more: str = ""
    note: str = ""
    empty: str = "None."
    template: str = "admin/board/bars.html"


def bar(pieces: Iterable[tuple[str, float]], whole: float) -> SafeString:
    """Return a bar of pieces, each a tone and a value, side by side. `whole` is the value that fills the cell.

    The bar is hidden from screen readers: the cells beside it say the same in words.
    """
    place, drawn = 0.0, []
    for tone, value in pieces:
        share = min(100 * value / whole, 100 - place) if whole > 0 else 0
        if share > 0:
            drawn.append((tone, f"{place:.2f}", f"{share:.2f}"))
            place += share
    room = SafeString('<rect class="room" width="100%" height="12" rx="2"/>')
    filled = format_html_join("", '<rect class="{}" x="{}%" width="{}%" height="12"/>', drawn)
    return format_html('<svg class="bar" aria-hidden="true" height="12">{}{}</svg>', room, filled)


def meter(used: float, whole: float, text: str, tone: str) -> SafeString:
    """Return a meter that shows how much of something is used: words above a bar."""
    return format_html('<div class="meter"><span>{}</span>{}</div>', text, bar([(tone, used)], whole))
