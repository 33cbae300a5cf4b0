"""Numbers of things in sentences."""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 instance``, ``0 instances``, ``1,024 addresses``.

    By default `many` is `one` with an s. Both may continue with a verb: ``job waits``, ``jobs wait``.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
