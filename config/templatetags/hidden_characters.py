"""``{{ name|visible }}``: a name that another person chose, with its hidden characters shown."""

from django import template

from config.display.hidden_characters import visible

register = template.Library()


@register.filter(name="visible")
def shown(value: object) -> str:
    return visible(str(value))
