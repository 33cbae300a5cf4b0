"""``{% board as found %}``: the numbers and figures of the first page, for the user of the request."""

from typing import Any

from django import template

from config.admin.board.registry import Board, board

register = template.Library()


@register.simple_tag(takes_context=True, name="board")
def show(context: dict[str, Any]) -> Board:
    return board(context["request"])
