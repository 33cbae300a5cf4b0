"""Full collections of garbage are put off while modules are imported.

They go over all objects and find nothing, because modules stay. They would take an eighth of the imports' time.
"""

import gc

USUAL, RARE = 10, 1000
"""After this many collections of the second generation comes a full one. `USUAL` is Python's own number."""


def put_off_full_collections() -> None:
    _after(RARE)


def resume_full_collections() -> None:
    _after(USUAL)


def _after(number: int) -> None:
    first, second, _ = gc.get_threshold()
    gc.set_threshold(first, second, number)
