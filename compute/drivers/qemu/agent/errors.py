"""The two ways in which a verb fails. Their texts may be shown to customers."""


class Failed(Exception):
    """The host cannot do this now, but may do so later.

    `details`, such as the output of a program, are for the log only: they may contain lines of files.
    """

    details = ""


class Refused(Failed):
    """The host will never do this: trying again is pointless."""


def details_of(error: BaseException | None) -> str:
    """The details of an error and of its causes, for the log. Empty if there are none."""
    found = []
    while error is not None:
        found.append(error.details if isinstance(error, Failed) else "")
        error = error.__cause__
    return " ".join(filter(None, found))
