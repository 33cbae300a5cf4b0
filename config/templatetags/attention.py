"""``{% attention as notices %}``: the notices of the attention panel, for the user of the request."""

from typing import Any

from django import template

from config.admin.attention import Notice, notices

register = template.Library()


@register.simple_tag(takes_context=True)
def attention(context: dict[str, Any]) -> list[Notice]:
    return notices(context["request"])
