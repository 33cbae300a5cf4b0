"""The resource that shows each kind of entity in the list of a tag's objects.

The kinds belong to apps that depend on this one. They register the resource of each kind at start-up, by its dotted
path, so that a start-up loads no API.
"""

from typing import Any

from django.utils.module_loading import import_string

_resources: dict[str, str] = {}


def show_with(kind: str, resource: str) -> None:
    """Show entities of this kind with the resource of this dotted path. Raises `ValueError` if it has another."""
    if _resources.setdefault(kind, resource) != resource:
        raise ValueError(f"{kind!r} is shown with {_resources[kind]} already")


def resource_of(kind: str) -> Any:
    """The resource that shows entities of this kind. Raises `LookupError`."""
    return import_string(_resources[kind])


def shown() -> tuple[str, ...]:
    """Return the kinds that have a resource, in order of registration."""
    return tuple(_resources)
