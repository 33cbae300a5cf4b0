"""How each kind of entity is shown in the list of what carries a tag.

The kinds belong to apps to the right of this one, which register the resource of each when they start. It is named
and not given, so that a start-up loads no API.
"""

from typing import Any

from django.utils.module_loading import import_string

_resources: dict[str, str] = {}


def show_with(kind: str, resource: str) -> None:
    """Show entities of this kind with the resource of this dotted path. Raises `ValueError` where another does."""
    if _resources.setdefault(kind, resource) != resource:
        raise ValueError(f"{kind!r} is shown with {_resources[kind]} already")


def resource_of(kind: str) -> Any:
    """The resource that shows entities of this kind. Raises `LookupError`."""
    return import_string(_resources[kind])


def shown() -> tuple[str, ...]:
    """The kinds that are shown, in order of registration."""
    return tuple(_resources)
