"""What web processes, workers and the clock say of their environment when they start, and when they do not."""

import logging
import multiprocessing

log = logging.getLogger(__name__)


def warn_at_start() -> None:
    """Log the variables that are wrong, and in production those that are missing: once for a server, however many
    processes it spawns.

    Raises `SystemExit` with those that production does not start with (config/checks.py), a line for each.
    """
    from config.checks import production, renamed_variables  # Django's own checks want its apps to be there

    found = (*renamed_variables(None), *production(None))
    if refused := [f"{each.msg} ({each.id})" for each in found if each.is_serious()]:
        raise SystemExit("\n".join(refused))
    if _is_first():
        for each in found:
            log.warning("%s (%s)", each.msg, each.id)


def _is_first() -> bool:
    """Whether this is the first process that its parent spawned, as granian does, or one that a shell started."""
    return multiprocessing.current_process()._identity in ((), (1,))
