"""What apps to the right of this one do when something changes here, in the transaction in which it does.

They register their functions when they start, in ``AppConfig.ready()``.
"""

from collections.abc import Callable, Sequence

Listener = Callable[[Sequence[int]], None]
"""A function of the ids of instances."""

_removed: list[Listener] = []
_changed: list[Listener] = []


def on_address_removed(listener: Listener) -> Listener:
    """Have `listener` called when an address of these instances was given back."""
    return _register(_removed, listener)


def on_addresses_changed(listener: Listener) -> Listener:
    """Have `listener` called when these instances have other addresses than before, for whatever reason."""
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
