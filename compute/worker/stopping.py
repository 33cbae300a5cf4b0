"""A worker that is stopping returns its jobs, so that another worker continues at once.

Celery's warm shutdown waits for the tasks that run. A task may run many steps of a job. After the signal, it ends
its present step, gives the lease back and notifies other workers. Celery would drop notifications that the worker
has taken and not begun. So the worker sends these notifications once more. Otherwise their jobs would wait for the
sweep.
"""

import mmap
from typing import Any

from celery import bootsteps, signals
from celery.worker import state
from celery.worker.consumer import Consumer, Tasks

from config.processes.notify import notify

_flag = mmap.mmap(-1, 1)
"""A flag that is shared with forked processes, which get no signal when the worker stops."""
_taken: list[tuple[str, tuple[Any, ...]]] = []
"""Tasks that had not begun when the worker began to stop, with their arguments."""


def is_stopping() -> bool:
    """Tell whether this process's worker is stopping."""
    return _flag[0] != 0


@signals.worker_shutting_down.connect
def note_stop(**kwargs: Any) -> None:
    """Note that the worker is stopping, and which tasks it has not begun. Runs in a signal handler, so it starts no
    work.
    """
    _flag[0] = 1
    begun = set(state.active_requests)
    _taken.extend((each.name, tuple(each.args)) for each in tuple(state.reserved_requests) if each not in begun)


class ReturnTasks(bootsteps.StartStopStep):
    """A step of a worker's consumer: it stops once no more tasks are taken, before those that run have ended."""

    requires = (Tasks,)

    def stop(self, parent: Consumer) -> None:
        """Send the noted tasks again. A task that has begun after all does no harm: it finds its job leased, or not
        due."""
        while _taken:
            name, arguments = _taken.pop()
            notify(name, *arguments)
