"""Descriptions of the OpenAPI document, converted from CommonMark to HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

LOWEST_HEADING = 6


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a text: its words, and the id by which links name it."""

    words: str
    anchor: str


@cache
def html(text: str, top: int = 2) -> SafeString:
    """Return the text as HTML. The highest heading of the text becomes one of level `top`.

    HTML in the text is shown as text. Many operations have the same texts, so each result is cached.
    """
    return html_with_headings(text, top)[0]


@cache
def inline(text: str) -> SafeString:
    """Return a text of one line, such as a summary, as HTML without a paragraph around it."""
    return mark_safe(_markdown.renderInline(text))  # noqa: S308 - the parser escapes all HTML of the text


def html_with_headings(text: str, top: int = 2) -> tuple[SafeString, list[Heading]]:
    """Return the text as HTML, as `html` does, with the headings of the highest level, which have anchors."""
    tokens = _markdown.parse(text)
    openings = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    highest = min((int(tokens[index].tag[1:]) for index in openings), default=top)
    headings = []
    for index in openings:
        level = int(tokens[index].tag[1:])
        tokens[index].tag = tokens[index + 2].tag = f"h{min(level - highest + top, LOWEST_HEADING)}"
        if level == highest:
            heading = Heading(tokens[index + 1].content, slugify(tokens[index + 1].content))
            tokens[index].attrSet("id", heading.anchor)
            headings.append(heading)
    rendered = _markdown.renderer.render(tokens, _markdown.options, {})
    return mark_safe(rendered), headings  # noqa: S308 - the parser escapes all HTML of the text


def _table_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Mapping[str, Any], env: Any
) -> str:
    return '<div class="scroll" tabindex="0"><table>\n'


def _table_close(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Mapping[str, Any], env: Any
) -> str:
    return "</table></div>\n"


_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
_markdown.add_render_rule("table_open", _table_open)
_markdown.add_render_rule("table_close", _table_close)
