"""The two ways in which a verb fails. Their texts may be shown to customers."""


class Failed(Exception):
    """The host cannot do this now, but may do so later.

    `details` are for the log alone, such as what a program said: lines of files may be in there.
    """

    details = ""


class Refused(Failed):
    """The host will never do this: trying again is pointless."""


def details_of(error: BaseException | None) -> str:
    """The details of an error and of its causes, for the log; empty where there are none."""
    found = []
    while error is not None:
        found.append(error.details if isinstance(error, Failed) else "")
        error = error.__cause__
    return " ".join(filter(None, found))
