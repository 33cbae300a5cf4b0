"""The Celery application of `tests.bench.jobs`: our application with two more tasks that do no work."""

import os
import time
from pathlib import Path

from config.celery import app

MARKS = "BENCH_MARKS"
"""The name of the variable with the path of the file that `mark` writes to."""


@app.task(name="bench.noop")
def noop() -> None:
    """Do nothing: the cost of a task itself."""


@app.task(name="bench.mark")
def mark(name: str) -> None:
    """Write the time at which the queue reached this task, as a line ``<name> <epoch seconds>``."""
    with Path(os.environ[MARKS]).open("a") as marks:
        marks.write(f"{name} {time.time()}\n")
