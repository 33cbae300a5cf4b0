"""Warnings and errors of web processes, workers and the clock about their environment at their start."""

import logging
import multiprocessing

log = logging.getLogger(__name__)


def warn_at_start() -> None:
    """Log the variables that are wrong, and in production the missing ones.

    A server logs them once, however many processes it spawns. Raises `SystemExit` with a line for each variable
    that prevents a start in production (config/environment/checks.py).
    """
    from config.environment.checks import (  # Django's own checks want its apps to be there
        production,
        renamed_variables,
    )

    found = (*renamed_variables(None), *production(None))
    if refused := [f"{each.msg} ({each.id})" for each in found if each.is_serious()]:
        raise SystemExit("\n".join(refused))
    if _is_first():
        for each in found:
            log.warning("%s (%s)", each.msg, each.id)


def _is_first() -> bool:
    """Tell whether this is the first process that its parent spawned, as granian does, or that a shell started."""
    return multiprocessing.current_process()._identity in ((), (1,))
