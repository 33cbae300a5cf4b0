"""The Celery application of `tests.bench.jobs`: ours, with two tasks that do nothing of ours."""

import os
import time
from pathlib import Path

from config.celery import app

MARKS = "BENCH_MARKS"
"""Names the variable that holds the file which `mark` writes to."""


@app.task(name="bench.noop")
def noop() -> None:
    """What a task costs that does nothing."""


@app.task(name="bench.mark")
def mark(name: str) -> None:
    """Note the time at which the queue got here, as a line ``<name> <epoch seconds>``."""
    with Path(os.environ[MARKS]).open("a") as marks:
        marks.write(f"{name} {time.time()}\n")
