"""The warnings that web processes, workers and the clock log when they start."""

import logging
import multiprocessing

log = logging.getLogger(__name__)


def warn_at_start() -> None:
    """Log the variables that are wrong, and in production those that are missing: once for a server, however many
    processes it spawns."""
    if not _is_first():
        return
    from config.checks import production, renamed_variables  # Django's own checks want its apps to be there

    for found in (*renamed_variables(None), *production(None)):
        log.warning("%s (%s)", found.msg, found.id)


def _is_first() -> bool:
    """Whether this is the first process that its parent spawned, as granian does, or one that a shell started."""
    return multiprocessing.current_process()._identity in ((), (1,))
