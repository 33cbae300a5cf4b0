"""Functions of apps that depend on this one, called when addresses change, in the transaction of the change.

The apps register them at start-up, in ``AppConfig.ready()``.
"""

from collections.abc import Callable, Sequence

Listener = Callable[[Sequence[int]], None]
"""A function of the ids of instances."""

_removed: list[Listener] = []
_changed: list[Listener] = []


def on_address_removed(listener: Listener) -> Listener:
    """Register a `listener` that is called with the ids of instances that released an address."""
    return _register(_removed, listener)


def on_addresses_changed(listener: Listener) -> Listener:
    """Register a `listener` that is called with the ids of instances whose addresses changed for any reason."""
    return _register(_changed, listener)


def address_removed(instance_ids: Sequence[int]) -> None:
    for listener in _removed:
        listener(instance_ids)


def addresses_changed(instance_ids: Sequence[int]) -> None:
    for listener in _changed:
        listener(instance_ids)


def _register(listeners: list[Listener], listener: Listener) -> Listener:
    if listener not in listeners:
        listeners.append(listener)
    return listener
