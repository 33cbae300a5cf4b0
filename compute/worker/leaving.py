"""A worker that was told to stop hands back what it holds, so that another one continues at once.

Celery's warm shutdown waits for the tasks that run. A task may run many steps of a job; from here on it ends the
one it is at, gives the lease back and has workers notified again. Notifications that the worker has taken and not
begun would be dropped: they are sent once more, in place of being missed until the sweep notifies again.
"""

import mmap
from typing import Any

from celery import bootsteps, signals
from celery.worker import state
from celery.worker.consumer import Consumer, Tasks

from config.notify import notify

_flag = mmap.mmap(-1, 1)
"""Shared with the processes that the worker forks, which get no signal when it is told to stop."""
_taken: list[tuple[str, tuple[Any, ...]]] = []
"""Tasks that had not begun when the worker was told to stop, with their arguments."""


def leaving() -> bool:
    """Whether the worker that this process belongs to was told to stop."""
    return _flag[0] != 0


@signals.worker_shutting_down.connect
def leave(**kwargs: Any) -> None:
    """Runs in the handler of a signal, so it only writes down what is to be done."""
    _flag[0] = 1
    begun = set(state.active_requests)
    _taken.extend((each.name, tuple(each.args)) for each in tuple(state.reserved_requests) if each not in begun)


class HandBack(bootsteps.StartStopStep):
    """A step of a worker's consumer: it stops once no more tasks are taken, before those that run have ended."""

    requires = (Tasks,)

    def stop(self, parent: Consumer) -> None:
        """One that has begun after all does no harm: it finds its job leased, or not due."""
        while _taken:
            name, arguments = _taken.pop()
            notify(name, *arguments)
