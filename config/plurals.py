"""Numbers of things in sentences."""


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 instance``, ``0 instances``, ``1,024 addresses``. `many` is `one` with an s where
    it is not given; both may go on with a verb: ``job waits``, ``jobs wait``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
